package origin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
)

// An artifact is stale where what it was made from is not what is there now. Without Python that is
// known of the files, listings, variables and releases that a recording or the sidecar of an
// archive has, and of the texts of functions that an archive's debug records hold.

// Notes are the notes on what the artifact was made from: what has changed, and what could not be
// compared. It reads files.
func (o *Origin) Notes(c *spec.Case) ([]trace.Note, error) {
	var out []trace.Note
	add := func(id note.ID, undecided bool, subject string) {
		out = append(out, trace.Note{Note: note.Note{ID: id, Undecided: undecided, Subject: subject}, Site: trace.NoSite})
	}
	changes, unchecked, err := o.changes(c)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		add(note.ArtifactStale, true, several(changes, ", ")+Since+"; to make it again: "+o.Command(c))
	}
	if unchecked != "" {
		add(note.DependsUnchecked, false, unchecked)
	}
	return out, nil
}

// Since ends what a stale artifact's note says has changed.
const Since = " since the artifact was made"

// several are the first of many texts, and how many more there are.
func several(texts []string, between string) string {
	const shown = 3
	if len(texts) <= shown {
		return strings.Join(texts, between)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:shown], between), len(texts)-shown)
}

// changes are what is not as it was, in words ("models/zoo.py has changed"), and what could not be
// compared.
func (o *Origin) changes(c *spec.Case) (changes []string, unchecked string, err error) {
	if o.Made == nil && c.Captured() != "" {
		return []string{"the recording does not record what it was made from: its source may have changed"}, "", nil
	}
	if o.Made != nil {
		place := o.place(c)
		if changes, err = o.Made.Changes(place); err != nil {
			return nil, "", regular.Plain(err)
		}
		releases, open, err := o.releases(place)
		if err != nil {
			return nil, "", regular.Plain(err)
		}
		changes = append(changes, releases...)
		if place.Environ == nil && len(o.Made.Variables) > 0 {
			open = append(open, "variables of the environment, which the caller did not give")
		}
		unchecked = strings.Join(open, "; ")
	}
	if o.Program == nil || c.Source == "" {
		return changes, unchecked, nil
	}
	text, err := changedText(o.Program, c)
	if text != "" {
		changes = append(changes, text)
	}
	return changes, unchecked, err
}

// place is where the artifact lies, with the folders that it may be compared with: the repositories
// of the artifact and of memspec.yaml.
func (o *Origin) place(c *spec.Case) recording.Place {
	p := recording.Place{Folder: filepath.Dir(o.Path), Dir: c.Dir, Depends: c.Depends,
		Environ: c.Program.Environ(o.Environ)}
	if p.Dir == "" {
		p.Dir = p.Folder
	}
	if full, err := filepath.Abs(p.Folder); err == nil {
		p.Roots = append(p.Roots, repository(full, filepath.Dir(full)))
	}
	if full, err := filepath.Abs(p.Dir); err == nil {
		p.Roots = append(p.Roots, repository(full, full))
	}
	return p
}

// repository is the nearest folder upwards that holds .git, or another one where none does.
func repository(folder, otherwise string) string {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return otherwise
		}
	}
}
