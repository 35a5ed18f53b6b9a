package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitectureNamesWhatThereIs holds docs/architecture.md to the code: its files, directories and tests exist.
func TestArchitectureNamesWhatThereIs(t *testing.T) {
	root := filepath.Join("..", "..")

	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}

	files, tests := inventory(t, root)
	quoted := regexp.MustCompile("`[^`\n]+`").FindAllString(string(page), -1)
	known := 0

	for _, name := range quoted {
		name = strings.Trim(name, "`")

		switch {
		case strings.HasPrefix(name, "Test"), strings.HasPrefix(name, "Fuzz"):
			if !tests[name] {
				t.Errorf("%s: there is no such test", name)
			}
		case strings.HasSuffix(name, ".go"), strings.HasSuffix(name, ".lua"), strings.Contains(name, "/"):
			if !files[name] {
				t.Errorf("%s: there is no such file or directory", name)
			}
		default:
			continue
		}

		known++
	}

	if known < 50 {
		t.Errorf("only %d of %d quoted names are files or tests", known, len(quoted))
	}
}

// inventory lists files and directories, by path and by name, and the names of all tests.
func inventory(t *testing.T, root string) (files, tests map[string]bool) {
	t.Helper()

	files, tests = make(map[string]bool), make(map[string]bool)
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return filepath.SkipDir
		}

		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		files[filepath.ToSlash(relative)], files[entry.Name()] = true, true

		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}

		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		for _, found := range declaration.FindAllStringSubmatch(string(source), -1) {
			tests[found[1]] = true
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return files, tests
}
