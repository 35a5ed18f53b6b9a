package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestEverySettingIsDocumented holds docs/configuration.md against the defaults.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}

	defaults := DefaultConfig()
	defaults.Up.Dir = "~/.local/state/skyring"

	var printed bytes.Buffer
	if err := printYAML(&printed, &defaults); err != nil {
		t.Fatal(err)
	}

	var tree yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(printed.Bytes(), &tree, yaml.UseOrderedMap()); err != nil {
		t.Fatal(err)
	}

	documented := 0

	var check func(prefix string, items yaml.MapSlice)

	check = func(prefix string, items yaml.MapSlice) {
		for _, item := range items {
			name := prefix + fmt.Sprint(item.Key)
			if inner, ok := item.Value.(yaml.MapSlice); ok {
				check(name+".", inner)

				continue
			}

			value := fmt.Sprint(item.Value)
			if value == "" {
				value = "(empty)"
			}

			row := fmt.Sprintf("| `%s` | `%s` | ", name, value)
			if !strings.Contains(string(text), row) {
				t.Errorf("docs/configuration.md lacks the row %s", row)
			}

			documented++
		}
	}
	check("", tree)

	if rows := strings.Count(string(text), "\n| `"); rows != documented {
		t.Errorf("docs/configuration.md has %d rows for %d settings", rows, documented)
	}
}
