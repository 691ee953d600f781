package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A word of every kind is damaged in the ways of its kind; what reads the same is not known.
func TestDamage(t *testing.T) {
	got := Damage(t, "a 5\n  (\"s\"", func(text string) (string, error) {
		if strings.HasPrefix(text, "\n") {
			return "", ErrNothingToReport
		}
		if strings.Contains(text, "other") {
			return "", errors.New("no\nother")
		}
		return strings.ToUpper(strings.TrimLeft(text, "a")), nil
	})
	assert.Equal(t, `1 | a 5
	1 a as other: no ↵ other
	1 a as 7: reads 7 5
	1 a is the last: reads -5 ↵ ("S" +
	3 5 without: reads
	3 5 as 0: reads 0
	3 5 as 7: reads 7
	3 5 as -1: reads -1
	3 5 far larger: reads 50000000000000000000
	3 5 is the last: reads -("S"
	4 ␤ joined: reads -5 ↵ ("S" +5   ("S"
	4 ␤ deeper: reads ("S"
	4 ␤ is the last: reads
2 |   ("s"
	3 ( without: reads "S"
	3 ( twice: reads (("S"
	3 ( as ;: reads ;"S"
	3 ( is the last: reads (
	4 "s" without: reads (
	4 "s" empty: reads (""
	4 "s" another: no ↵ other
	4 "s" open: reads ("S
`, got)
}

// A value of every kind is damaged in the ways of its kind; two members of a list, and of what is a
// list by names; what is said twice is reported once.
func TestDamageJSON(t *testing.T) {
	got := DamageJSON(t, `{"n":[1,2,3],"m":{"a":{"x":true},"b":{"x":true},"c":{"x":true}},"s":"t"}`,
		func(text string) (string, error) {
			var v struct {
				N []int
				M map[string]struct{ X bool }
				S *string
			}
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return "", errors.New("wrong")
			}
			if v.S == nil {
				return fmt.Sprint(v.N, "\n", v.M), nil
			}
			return fmt.Sprint(v.N, "\n", v.M, "\n", *v.S), nil
		})
	assert.Equal(t, strings.TrimPrefix(`
 as []: wrong
 as null, as {}: reads -[1 2 3] ↵ map[a:{true} b:{true} c:{true}] ↵ (1 more) +[] ↵ map[]
.m as []: wrong
.m as null, as {}: reads map[]
.m.a as []: wrong
.m.a as null, as {}: reads map[a:{false} b:{true} c:{true}]
.m.a.x as null, as the opposite: reads map[a:{false} b:{true} c:{true}]
.m.a.x missing, by another name: reads map[a:{false} b:{true} c:{true}]
.m.a missing: reads map[b:{true} c:{true}]
.m.a by another name: reads map[a_:{true} b:{true} c:{true}]
.m.b as []: wrong
.m.b as null, as {}: reads map[a:{true} b:{false} c:{true}]
.m.b.x as null, as the opposite: reads map[a:{true} b:{false} c:{true}]
.m.b.x missing, by another name: reads map[a:{true} b:{false} c:{true}]
.m.b missing: reads map[a:{true} c:{true}]
.m.b by another name: reads map[a:{true} b_:{true} c:{true}]
.m.c missing: reads map[a:{true} b:{true}]
.m.c by another name: reads map[a:{true} b:{true} c_:{true}]
.m missing, by another name: reads map[]
.n as 7: wrong
.n as [], as null: reads []
.n with its last twice: reads [1 2 3 3]
.n without its last: reads [1 2]
.n[0] as -1: reads [-1 2 3]
.n[0] as 0, as null: reads [0 2 3]
.n[0] as 3: reads [3 2 3]
.n[0] as far larger: wrong
.n[1] as -1: reads [1 -1 3]
.n missing, by another name: reads []
.s as "": reads
.s as "other": reads other
.s as 7: wrong
.s as null: reads -t
.s missing, by another name: reads -t
`, "\n"), got)
}

// Each byte is another; neighbours of which the same is said are reported together.
func TestDamageBytes(t *testing.T) {
	got := DamageBytes(t, []byte("\x00\x02ab"), func(text string) (string, error) {
		if len(text) < 2 || text[0] != 0 {
			return "", errors.New("no magic")
		}
		return fmt.Sprintf("%q", text[2:min(len(text), 2+int(text[1]))]), nil
	})
	assert.Equal(t, `0 one more: no magic
2 one more: reads "bb"
3 one more: reads "ac"
0 one less: no magic
1 one less: reads "a"
2 one less: reads "`+"`"+`b"
3 one less: reads "aa"
1 0: reads ""
2 0: reads "\x00b"
3 0: reads "a\x00"
0 255: no magic
2 255: reads "\xffb"
3 255: reads "a\xff"
0 to 1 not there, nor what follows: no magic
2 not there, nor what follows: reads ""
3 not there, nor what follows: reads "a"
`, got)
}
