package format_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A browser is a headless Chromium with one page, spoken to over a pipe in its DevTools protocol.
type browser struct {
	t       testing.TB
	in      io.Writer
	out     chan map[string]any
	next    int
	session string
	log     []string // what the page wrote to its console, exceptions and blocked loads too
}

// startBrowser skips the test where there is no Chromium, and outside of make formats: a browser
// takes more time than all other tests of the package.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	if os.Getenv("MEMSPEC_BROWSER_TESTS") == "" {
		t.Skip("runs a browser: MEMSPEC_BROWSER_TESTS=1 go test ./engine/format")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("got no Chromium (Debian: apt-get install chromium), in which the page is tried")
	}
	profile, err := os.MkdirTemp("", "memspec-browser") // its processes may outlive it by a moment
	require.NoError(t, err)
	fromUs, toBrowser, err := os.Pipe()
	require.NoError(t, err)
	fromBrowser, toUs, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--hide-scrollbars",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // 3 and 4
	require.NoError(t, cmd.Start())
	fromUs.Close()
	toUs.Close()
	b := &browser{t: t, in: toBrowser, out: make(chan map[string]any, 1000)}
	go func() {
		defer close(b.out)
		r := bufio.NewReaderSize(fromBrowser, 1<<20)
		for {
			text, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var message map[string]any
			if json.Unmarshal(text[:len(text)-1], &message) == nil {
				b.out <- message
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		toBrowser.Close()
		for range 20 {
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	targets := b.call("Target.getTargets", nil)["targetInfos"].([]any)
	for _, target := range targets {
		info := target.(map[string]any)
		if info["type"] == "page" {
			b.session = b.call("Target.attachToTarget", map[string]any{"targetId": info["targetId"],
				"flatten": true})["sessionId"].(string)
		}
	}
	require.NotEmpty(t, b.session, "a page")
	for _, domain := range []string{"Page", "Runtime", "Log", "Accessibility"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// call sends a command and waits for its answer; what the page says meanwhile goes to the log.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.next++
	request := map[string]any{"id": b.next, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	text, err := json.Marshal(request)
	require.NoError(b.t, err)
	_, err = b.in.Write(append(text, 0))
	require.NoError(b.t, err)
	for {
		message := b.receive(method)
		if id, ok := message["id"].(float64); ok && int(id) == b.next {
			require.NotContains(b.t, message, "error", method)
			result, _ := message["result"].(map[string]any)
			return result
		}
		b.event(message)
	}
}

func (b *browser) receive(what string) map[string]any {
	b.t.Helper()
	select {
	case message, ok := <-b.out:
		require.True(b.t, ok, "the browser ended during %s", what)
		return message
	case <-time.After(60 * time.Second):
		b.t.Fatalf("%s: got no answer in a minute", what)
		return nil
	}
}

// event keeps what a person would see in the console.
func (b *browser) event(message map[string]any) {
	switch message["method"] {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		text, _ := json.Marshal(message["params"])
		b.log = append(b.log, string(text))
	}
}

// open loads a document and waits until it is there.
func (b *browser) open(page []byte, fragment string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "page.html")
	require.NoError(b.t, os.WriteFile(path, page, 0o600))
	b.call("Page.navigate", map[string]any{"url": "file://" + path + fragment})
	for b.eval("document.readyState") != "complete" {
		time.Sleep(20 * time.Millisecond)
	}
}

// eval is the value of an expression in the page.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	got := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true,
		"awaitPromise": true})
	require.NotContains(b.t, got, "exceptionDetails", expression)
	result, _ := got["result"].(map[string]any)
	return result["value"]
}

// press presses and releases a key.
func (b *browser) press(key string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37,
		"ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
	params := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes[key]}
	if len(key) == 1 {
		params["text"] = key
	}
	if key == "Enter" {
		params["text"] = "\r"
	}
	b.call("Input.dispatchKeyEvent", params)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": codes[key]})
}

// size sets the window's width and height, and the colours that the user prefers.
func (b *browser) size(width, height int, scheme string) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1,
		"mobile": false})
	b.call("Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]any{{"name": "prefers-color-scheme", "value": scheme}}})
	b.eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
}

// picture keeps what the page looks like in the folder that MEMSPEC_SCREENSHOTS names, for people
// to look at.
func (b *browser) picture(name string) {
	dir := os.Getenv("MEMSPEC_SCREENSHOTS")
	if dir == "" {
		return
	}
	got := b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": false})
	data, err := base64.StdEncoding.DecodeString(got["data"].(string))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644))
}

// roles are the roles and names of the accessibility tree, as a screen reader has them.
func (b *browser) roles() []string {
	var out []string
	for _, n := range b.call("Accessibility.getFullAXTree", nil)["nodes"].([]any) {
		node := n.(map[string]any)
		if ignored, _ := node["ignored"].(bool); ignored {
			continue
		}
		value := func(key string) any {
			v, _ := node[key].(map[string]any)
			return v["value"]
		}
		out = append(out, fmt.Sprintf("%v %v", value("role"), value("name")))
	}
	return out
}
