package format

// A message is a protocol buffer as it goes on the wire: what profile.proto needs of it. Fields
// that are 0 or empty are left out, as proto3 does.
type message []byte

func (m *message) varint(v uint64) {
	for v >= 0x80 {
		*m = append(*m, byte(v)|0x80)
		v >>= 7
	}
	*m = append(*m, byte(v))
}

func (m *message) int(field int, v int64) {
	if v != 0 {
		m.varint(uint64(field) << 3)
		m.varint(uint64(v))
	}
}

// bytes adds a string or an embedded message, an empty one too: in a repeated field it counts.
func (m *message) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	*m = append(*m, b...)
}

// ints adds a repeated field of numbers, packed.
func (m *message) ints(field int, vs []int64) {
	if len(vs) == 0 {
		return
	}
	var packed message
	for _, v := range vs {
		packed.varint(uint64(v))
	}
	m.bytes(field, packed)
}
