package spec

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/workspace/profile"
)

// WriteSaid writes all that memspec.yaml says of a case, wherever in the file it stands: two cases
// that write the same are judged alike. What the files hold that it names is not in it, nor which
// baseline lies beside it.
//
// It goes through every field there is, so that a new one counts until somebody says that it does
// not.
func (c *Case) WriteSaid(w io.Writer) {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Baseline" {
			fmt.Fprintf(w, "%s=", name)
			writeValue(w, v.Field(i))
		}
	}
	fmt.Fprintf(w, "file=%q\n", c.Pos.File) // commands name it
}

// passed are types of which nothing is written: where something stands, what a case was made from,
// and what a file holds.
var passed = []reflect.Type{reflect.TypeFor[Pos](), reflect.TypeFor[*template](), reflect.TypeFor[*profile.Profile]()}

func writeValue(w io.Writer, v reflect.Value) {
	if slices.Contains(passed, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			fmt.Fprint(w, "nil,")
			return
		}
		fmt.Fprintf(w, "%s:", v.Elem().Type())
		writeValue(w, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			writeValue(w, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(w, "%d[", v.Len())
		for i := range v.Len() {
			writeValue(w, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		fmt.Fprintf(w, "%d{", len(keys))
		for _, k := range keys {
			writeValue(w, k)
			writeValue(w, v.MapIndex(k))
		}
	case reflect.String:
		fmt.Fprintf(w, "%q,", v.String())
	case reflect.Bool:
		fmt.Fprintf(w, "%t,", v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		fmt.Fprintf(w, "%d,", v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		fmt.Fprintf(w, "%d,", v.Uint())
	case reflect.Float32, reflect.Float64:
		fmt.Fprintf(w, "%g,", v.Float())
	default:
		panic(fmt.Sprintf("a case holds a %s, which cannot be compared", v.Type()))
	}
}
