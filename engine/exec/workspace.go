package exec

import (
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/workspace"
)

// workspaces are what libraries and kernels take beside the results of one operator.
type workspaces struct {
	d     *Dispatch
	asked []workspace.Request
	held  []*tensor.Storage // what requests that still live took, nil for nothing
}

// workspaceOf asks a rule what its kernel takes.
func (d *Dispatch) workspaceOf(c *ops.Call) workspaces {
	w := workspaces{d: d}
	if c.Rule.Workspace == nil || d.platform.IsNone() {
		return w
	}
	w.asked = c.Rule.Workspace(c)
	d.library.add(w.asked)
	return w
}

// noteLack notes what a call takes that no formula gives.
func (d *Dispatch) noteLack(c *ops.Call) {
	if lack := c.Lack(); lack != "" {
		d.Note(note.Note{ID: note.WorkspaceUnknown, Subject: c.Schema.Name + " (" + lack + ")"})
	}
}

// inOrder says that the requests say where results are made.
func (w *workspaces) inOrder() bool {
	return slices.ContainsFunc(w.asked, func(r workspace.Request) bool { return r.Result > 0 })
}

// take allocates what is asked for before the results exist, or after.
func (w *workspaces) take(before bool) {
	for i := range w.asked {
		if s := &w.asked[i]; s.Before == before {
			w.takeOne(s)
		}
	}
}

func (w *workspaces) takeOne(s *workspace.Request) {
	d := w.d
	w.drop(s.Drops, s.Past)
	said := note.Note{ID: s.Note, Subject: s.Source, Askable: s.Asked != nil && s.Asked.By.Library == ""}
	switch {
	case s.Note == note.WorkspaceUnknown && s.Bytes <= 0: // a likely figure of nothing is not known either
		d.Note(said)
		w.held = append(w.held, nil)
		return
	case s.Drops > 0 && s.Bytes <= 0 && s.Upper <= 0:
		return
	case s.Bytes <= 0 && s.Upper <= 0, s.Keep != "" && !d.first(s.Keep), s.Trial != "" && !d.first(s.Trial):
		w.held = append(w.held, nil)
		return
	}
	if s.Note != "" {
		d.Note(said)
	}
	was := d.Sites.enterWorkspace()
	st := d.NewStorage(s.Bytes, Accelerator, tensor.Workspace)
	d.Sites.now = was
	if s.Keep != "" || s.Trial != "" {
		d.changes.once = append(d.changes.once, st.ID)
	}
	if s.Upper > s.Bytes {
		d.upper = append(d.upper, trace.Estimate{Storage: st.ID, Bytes: s.Upper})
	}
	if s.Asked != nil && s.Asked.By.Library != "" {
		d.sources = append(d.sources, trace.Source{Storage: st.ID, Text: s.Source})
	}
	if s.Trial != "" {
		d.release(st.ID)
		d.emptyCache()
	}
	if s.Trial != "" || s.Keep != "" {
		st = nil
	}
	w.held = append(w.held, st)
}

// first says whether a key of workspace that is taken once comes up for the first time.
func (d *Dispatch) first(key string) bool {
	if d.once[key] {
		return false
	}
	if d.once == nil {
		d.once = map[string]bool{}
	}
	d.once[key] = true
	return true
}

// free releases what lasts for the operator alone.
func (w *workspaces) free() { w.drop(len(w.held), 0) }

// drop releases what the n requests before the latest past ones took, the latest first, as C++
// locals go.
func (w *workspaces) drop(n, past int) {
	for range n {
		i := len(w.held) - 1 - past
		if st := w.held[i]; st != nil {
			w.d.release(st.ID)
		}
		w.held = slices.Delete(w.held, i, i+1)
	}
}
