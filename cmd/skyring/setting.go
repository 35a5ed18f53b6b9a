package main

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// setting is one value of a Config, a leaf of the tree that its YAML is.
type setting struct {
	path     string       // dispatcher.window
	variable string       // SKYRING_DISPATCHER_WINDOW; empty: it cannot come from the environment
	kind     reflect.Type // of the field
}

// tree is the shape of a Config: its settings by their path, and its sections.
type tree struct {
	settings map[string]setting
	sections map[string]bool
}

// configTree reads the shape off the tags of Config.
func configTree() tree {
	t := tree{settings: make(map[string]setting), sections: make(map[string]bool)}
	t.add(reflect.TypeFor[Config](), "", envPrefix)

	return t
}

func (t tree) add(section reflect.Type, path, variable string) {
	for field := range section.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")

		switch {
		case name == "-":
		case options == "inline":
			t.add(field.Type, path, variable)
		case field.Type.Kind() == reflect.Struct:
			t.sections[path+name] = true
			t.add(field.Type, path+name+".", variable+field.Tag.Get("envPrefix"))
		default:
			one := setting{path: path + name, kind: field.Type}
			if env := field.Tag.Get("env"); env != "" {
				one.variable = variable + env
			}

			t.settings[one.path] = one
		}
	}
}

// right says what a value of the setting looks like.
func (s setting) right() string {
	switch {
	case s.isDuration():
		return "a duration with its unit is right, such as 400ms, 10s or 24h"
	case s.isString():
		return "text is right"
	case s.kind.Kind() == reflect.Bool:
		return "true or false is right"
	case s.kind.Kind() == reflect.Float64:
		return "a number is right"
	case s.kind.Kind() == reflect.Int:
		return "a whole number is right"
	default:
		return fmt.Sprintf("a whole number from 0 to %d is right", uint64(math.MaxUint64)>>(64-s.kind.Bits()))
	}
}

func (s setting) isDuration() bool { return s.kind == reflect.TypeFor[time.Duration]() }
func (s setting) isString() bool   { return s.kind.Kind() == reflect.String }

func (s setting) isWhole() bool {
	return !s.isDuration() && (s.kind.Kind() == reflect.Int || s.kind.Kind() >= reflect.Uint && s.kind.Kind() <= reflect.Uint64)
}

// check tells whether text is a value of the setting, and what would be right.
func (s setting) check(text string) error {
	if s.reads(text) {
		return nil
	}

	if text == "" {
		return fmt.Errorf("is empty: %s", s.right())
	}

	return fmt.Errorf("is %s: %s", strconv.Quote(shorten(text)), s.right())
}

// reads tells whether text is a value of the setting. Whole numbers are decimal.
func (s setting) reads(text string) bool {
	var err error

	switch kind := s.kind.Kind(); {
	case s.isString():
	case s.isDuration():
		_, err = time.ParseDuration(text)
	case kind == reflect.Bool:
		return text == "true" || text == "false"
	case kind == reflect.Float64:
		var number float64

		number, err = strconv.ParseFloat(text, 64)

		return err == nil && !math.IsInf(number, 0) && !math.IsNaN(number)
	case kind == reflect.Int:
		_, err = strconv.ParseInt(text, 10, s.kind.Bits())
	default:
		_, err = strconv.ParseUint(text, 10, s.kind.Bits())
	}

	return err == nil
}

// longestQuote is how much of a wrong value an error shows, in bytes.
const longestQuote = 80

// shorten cuts text that is too long to show.
func shorten(text string) string {
	if len(text) <= longestQuote {
		return text
	}

	return strings.ToValidUTF8(text[:longestQuote], "") + "..."
}
