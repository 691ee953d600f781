package report

import "io"

// Format is one way to write a report.
type Format struct {
	Name, Doc string
	Write     func(io.Writer, *Report) error
}

// Formats are the ways to write a report, the default first. It is a copy: callers may change it.
func Formats() []Format {
	return []Format{
		{Name: "text", Doc: "for people", Write: WriteText},
		{Name: "json", Doc: "the contract between the doors, see Schema", Write: WriteJSON},
	}
}
