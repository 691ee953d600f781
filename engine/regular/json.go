package regular

import (
	"bytes"
	"fmt"
)

// What every document of JSON may hold, whatever its size: small ones may be dense.
const (
	anyObjects = 1 << 17
	anyValues  = 1 << 20
	valueText  = 16 // bytes of text for each further value
)

// CheckJSON refuses a document of JSON that is to be decoded into values and holds far more of them
// than what memspec writes: an empty object is two bytes of text and some hundred of memory. An
// object and what is in it have at least objectText bytes, on average. Marks in strings count too.
func CheckJSON(data []byte, objectText int) error {
	if n, most := bytes.Count(data, []byte("{")), anyObjects+len(data)/objectText; n > most {
		return fmt.Errorf("got %d objects in %d bytes, want at most %d", n, len(data), most)
	}
	if n, most := bytes.Count(data, []byte(",")), anyValues+len(data)/valueText; n > most {
		return fmt.Errorf("got %d values in %d bytes, want at most %d", n, len(data), most)
	}
	return nil
}
