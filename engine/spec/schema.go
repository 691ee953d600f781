package spec

import _ "embed" // the schema is a file, so that editors can be pointed at it

// Schema is the JSON Schema (draft 2020-12) of memspec.yaml. It knows the shape of the file; what
// it cannot know, Parse says.
//
//go:embed memspec.schema.json
var Schema []byte
