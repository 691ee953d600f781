package platform

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of torch or cuDNN. It is read as text, so 2.10 is newer than 2.9. The zero
// value means not known.
type Version struct{ Major, Minor, Patch, Build int }

// ParseVersion reads "2.10", "2.10.0+cu128", "2.15.0a0", "9.10.2.21". What follows the numbers is
// not kept.
func ParseVersion(s string) (Version, error) {
	bad := fmt.Errorf("got version %q, want one such as 2.10 or 2.10.1", s)
	num := strings.TrimPrefix(s, "v")
	if i := strings.IndexFunc(num, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		if !strings.ContainsRune("+-abr", rune(num[i])) && !strings.HasPrefix(num[i:], "dev") &&
			!strings.HasPrefix(num[i:], "post") {
			return Version{}, bad
		}
		num = strings.TrimSuffix(num[:i], ".")
	}
	parts := strings.Split(num, ".")
	if len(parts) < 2 || len(parts) > 4 {
		return Version{}, bad
	}
	var n [4]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || len(p) > 6 {
			return Version{}, bad
		}
		n[i] = v
	}
	return Version{n[0], n[1], n[2], n[3]}, nil
}

// Covers says whether a version as PyTorch prints it (2.15.0+cu130) is v's, which may name a
// release (2.15) or one of its patches (2.15.1).
func (v Version) Covers(printed string) bool {
	number, _, _ := strings.Cut(printed, "+")
	return number == v.String() || strings.HasPrefix(number, v.String()+".")
}

// Compare orders versions: negative if v is older than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch),
		cmp.Compare(v.Build, w.Build))
}

// AtLeast says whether v is major.minor or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Compare(Version{Major: major, Minor: minor}) >= 0
}

// IsZero says that the version is not known.
func (v Version) IsZero() bool { return v == Version{} }

// Release is v without patch and build: 2.9.1 is of release 2.9.
func (v Version) Release() Version { return Version{Major: v.Major, Minor: v.Minor} }

// String writes two parts and as many more as are not zero.
func (v Version) String() string {
	switch {
	case v.Build != 0:
		return fmt.Sprintf("%d.%d.%d.%d", v.Major, v.Minor, v.Patch, v.Build)
	case v.Patch != 0:
		return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// MarshalText and UnmarshalText make a Version a string in JSON.
func (v Version) MarshalText() ([]byte, error) {
	if v.IsZero() {
		return nil, nil
	}
	return []byte(v.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (v *Version) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*v = Version{}
		return nil
	}
	w, err := ParseVersion(string(b))
	if err == nil {
		*v = w
	}
	return err
}
