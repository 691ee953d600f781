package device

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/nearest"
)

// nearby are the names that a name may have meant: those that it begins ("a100"), else the one most like it, by its name or an alias.
func nearby(name string) []string {
	var begun, spellings []string
	owner := map[string]string{}
	for i := range table {
		row := &table[i]
		if strings.HasPrefix(row.Name, name+"-") {
			begun = append(begun, row.Name)
		}
		for _, s := range append([]string{row.Name}, row.Aliases...) {
			spellings = append(spellings, s)
			owner[s] = row.Name
		}
	}
	if like := nearest.Word(name, spellings); begun == nil && like != "" {
		return []string{owner[like]}
	}
	return begun
}
