package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// byteOrderMark begins files of some editors.
const byteOrderMark = "\uFEFF"

// decodeYAML reads the text of a configuration file over c. Each unknown key and each value of a wrong
// type is an error that says the line; a text without any key changes nothing.
func decodeYAML(text []byte, c *Config) error {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if err := checkText(text); err != nil {
		return err
	}

	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return formatYAML(err)
	}

	var content []ast.Node

	for _, document := range file.Docs {
		if document.Body != nil && document.Body.Type() != ast.NullType && document.Body.Type() != ast.CommentType {
			content = append(content, document.Body)
		}
	}

	switch len(content) {
	case 0:
		return nil // the decoder would set everything to zero
	case 1:
	default:
		return fmt.Errorf("line %d: a second document begins: a configuration is one", line(content[1]))
	}

	checker := yamlChecker{tree: configTree()}
	checker.section(content[0], "")

	if err := errors.Join(checker.faults...); err != nil {
		return err
	}

	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(c); err != nil {
		return formatYAML(err)
	}

	return nil
}

// checkText refuses what no editor writes, before any of it is shown.
func checkText(text []byte) error {
	for offset := 0; offset < len(text); {
		r, size := utf8.DecodeRune(text[offset:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) {
			return fmt.Errorf("it is no text: byte 0x%02x at offset %d; a YAML file in UTF-8 is right", text[offset], offset)
		}

		offset += size
	}

	return nil
}

// formatYAML shows an error of the YAML package with the lines around it.
func formatYAML(err error) error {
	lines := strings.Split(yaml.FormatError(err, false, true), "\n")
	for i, one := range lines {
		lines[i] = shorten(one)
	}

	return errors.New(strings.Join(lines, "\n"))
}

// yamlChecker compares a document with the settings there are.
type yamlChecker struct {
	tree   tree
	faults []error
}

// section checks a mapping whose keys begin with prefix.
func (c *yamlChecker) section(node ast.Node, prefix string) {
	switch n := bare(node).(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			c.key(value, prefix)
		}
	case *ast.MappingValueNode:
		c.key(n, prefix)
	case *ast.NullNode, *ast.AliasNode:
	default:
		name := strings.TrimSuffix(prefix, ".")
		if name == "" {
			name = "the file"
		}

		c.fault(node, "%s must hold settings, a line each as in \"key: value\"", name)
	}
}

func (c *yamlChecker) key(node *ast.MappingValueNode, prefix string) {
	if node.Key.IsMergeKey() {
		return // what is merged is checked where it stands, by the decoder
	}

	path := prefix + node.Key.GetToken().Value

	if c.tree.sections[path] {
		c.section(node.Value, path+".")

		return
	}

	one, known := c.tree.settings[path]
	if !known {
		c.fault(node.Key, "%s names no setting (skyring dispatcher --print-config lists them)", shorten(path))

		return
	}

	c.value(one, bare(node.Value))
}

// value checks a scalar by its text, and that YAML takes it for the same type.
func (c *yamlChecker) value(s setting, node ast.Node) {
	switch n := node.(type) {
	case *ast.AliasNode:
	case *ast.NullNode:
		if s.isString() {
			c.fault(node, "%s has no value: write \"\" for an empty one", s.path)
		} else {
			c.fault(node, "%s has no value: %s", s.path, s.right())
		}
	case *ast.StringNode:
		// A quoted whole number is as good as a bare one.
		if s.isString() || s.isDuration() || s.isWhole() {
			c.text(s, node, n.Value)
		} else {
			c.fault(node, "%s is %q: %s", s.path, shorten(n.Value), s.right())
		}
	case *ast.LiteralNode:
		c.text(s, node, n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		c.text(s, node, n.GetToken().Value)
	default:
		c.fault(node, "%s holds several values: %s", s.path, s.right())
	}
}

func (c *yamlChecker) text(s setting, node ast.Node, text string) {
	if err := s.check(text); err != nil {
		c.fault(node, "%s %w", s.path, err)
	}
}

func (c *yamlChecker) fault(node ast.Node, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("line %d: %w", line(node), fmt.Errorf(format, args...)))
}

// bare is a node without its anchor and tag.
func bare(node ast.Node) ast.Node { //nolint:ireturn // nodes of a tree are of many types
	for {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		default:
			return node
		}
	}
}

func line(node ast.Node) int { return node.GetToken().Position.Line }
