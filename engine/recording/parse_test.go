package recording

import "bytes"

// Parse reads a recording from memory.
func Parse(data []byte) (*Recording, error) { return Decode(bytes.NewReader(data)) }
