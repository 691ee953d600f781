package ptzip

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// StrippedRecord is where strip leaves the true sizes of the records it emptied.
const StrippedRecord = ".memspec/stripped.json"

// Stripped is the content of StrippedRecord.
type Stripped struct {
	Schema  int              `json:"schema"`
	Records map[string]int64 `json:"records"`
}

// StrippedSchema is the version of Stripped.
const StrippedSchema = 1

// maxStripped is how long StrippedRecord may be, in bytes: some 400,000 records.
const maxStripped = 16 << 20

// ReadStripped reads the content of StrippedRecord.
func ReadStripped(data []byte) (Stripped, error) {
	s := Stripped{Schema: StrippedSchema}
	if len(data) > maxStripped {
		return s, &LimitError{What: "bytes", Name: StrippedRecord, Got: int64(len(data)), Limit: maxStripped}
	}
	if compactStripped(string(data), &s) {
		return s, nil
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", StrippedRecord, err)
	}
	if s.Schema != StrippedSchema {
		return s, fmt.Errorf("%s: got schema %d, want %d", StrippedRecord, s.Schema, StrippedSchema)
	}
	return s, nil
}

// compactStripped reads the record as it is written, {"schema":1,"records":{"data/0":37632,…}} or
// with the schema behind, in a twentieth of the time. It gives up on anything else.
func compactStripped(text string, s *Stripped) bool {
	rest, ok := strings.CutPrefix(text, `{"schema":1,"records":{`)
	end := "}}"
	if !ok {
		rest, ok = strings.CutPrefix(text, `{"records":{`)
		end = `},"schema":1}`
	}
	if !ok {
		return false
	}
	rest, ok = strings.CutSuffix(rest, end)
	if !ok || strings.Contains(rest, `\`) {
		return false
	}
	s.Records = make(map[string]int64, strings.Count(rest, ","))
	for rest != "" {
		var item string
		item, rest, _ = strings.Cut(rest, ",")
		name, size, ok := strings.Cut(item, `":`)
		n, err := strconv.ParseInt(size, 10, 64)
		if !ok || err != nil || len(name) < 2 || name[0] != '"' {
			s.Records = nil
			return false
		}
		s.Records[name[1:]] = n
	}
	return true
}
