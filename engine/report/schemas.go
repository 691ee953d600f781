package report

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed schemas/*.schema.json
var schemas embed.FS

// SchemaNames are the JSON values that have a JSON Schema, by name.
func SchemaNames() []string {
	entries, err := fs.ReadDir(schemas, "schemas") // sorted by name
	if err != nil {
		panic(err) // embedded
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".schema.json")
	}
	return names
}

// JSONSchema is the JSON Schema of one of SchemaNames; false where there is none of that name.
func JSONSchema(name string) ([]byte, bool) {
	b, err := schemas.ReadFile("schemas/" + name + ".schema.json")
	return b, err == nil
}
