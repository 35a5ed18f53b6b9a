package delphi_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"skyring/ring/policy"
	"skyring/ring/policy/delphi"
)

const header = "expert,server,factor,min,likely,max\n"

func TestRead(t *testing.T) {
	t.Parallel()

	got, err := delphi.Read(strings.NewReader("\ufeffexpert,server,factor,min,likely,max\r\n" +
		"ada, gw-1 ,failures,0,1,2.5\r\n\r\n\"ben, jun.\",total,response,1e3,1e3,1e3\n"))
	if err != nil {
		t.Fatal(err)
	}

	want := delphi.Round{
		{Expert: "ada", Server: "gw-1", Factor: "failures", Min: 0, Likely: 1, Max: 2.5},
		{Expert: "ben, jun.", Server: delphi.Total, Factor: "response", Min: 1000, Likely: 1000, Max: 1000},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}

	if got, err := delphi.Read(strings.NewReader(header)); err != nil || len(got) != 0 {
		t.Errorf("no answers: got %v, %v", got, err)
	}
}

// Each fault with its line and column.
func TestReadRefuses(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ text, want string }{
		{"", "line 1, column 1: nothing: want the line expert,server,factor,min,likely,max"},
		{"expert,sever,factor,min,likely,max\n", `line 1, column 8: column "sever": want the columns expert,server,factor,min,likely,max`},
		{"expert,server,factor,min,likely\n", "line 1, column 26: 5 columns: want the columns expert,server,factor,min,likely,max"},
		{"expert,server,factor,min,likely,max,unit\n", `line 1, column 37: column "unit": want the columns expert,server,factor,min,likely,max`},
		{header + "ada,gw-1,failures,0,1\n", "line 2, column 21: 5 fields: want the 6 of expert,server,factor,min,likely,max"},
		{header + "ada,gw-1,failures,0,1,2,3\n", "line 2, column 25: 7 fields: want the 6 of expert,server,factor,min,likely,max"},
		{header + ",gw-1,failures,0,1,2\n", "line 2, column 1: expert is empty: want a name"},
		{header + "ada, ,failures,0,1,2\n", "line 2, column 6: server is empty: want a name"},
		{header + "ada,gw-1,speed,0,1,2\n", `line 2, column 10: "speed" is no factor: failures, active-requests, consecutive-failures, response-deviation, response are`},
		{header + "ada,gw-1,failures,0,one,2\n", `line 2, column 21: likely "one": want a number from 0 to 1e15, such as 12.5`},
		{header + "ada,gw-1,failures,-1,1,2\n", `line 2, column 19: min "-1": want a number from 0 to 1e15, such as 12.5`},
		{header + "ada,gw-1,failures,0,1,inf\n", `line 2, column 23: max "inf": want a number from 0 to 1e15, such as 12.5`},
		{header + "ada,gw-1,failures,0,1,nan\n", `line 2, column 23: max "nan": want a number from 0 to 1e15, such as 12.5`},
		{header + "ada,gw-1,failures,0,1,2e15\n", `line 2, column 23: max "2e15": want a number from 0 to 1e15, such as 12.5`},
		{header + "ada,gw-1,failures,2,1,3\n", "line 2, column 21: likely 1 is less than min 2"},
		{header + "ada,gw-1,failures,0,3,2\n", "line 2, column 23: max 2 is less than likely 3"},
		{
			header + "ada,gw-1,failures,0,1,2\nben,gw-1,failures,0,1,2\nada,gw-1,failures,0,1,3\n",
			"line 4, column 1: ada answered failures of gw-1 before, in line 2",
		},
		{header + "ada,\"gw-1,failures,0,1,2\n", `line 2, column 26: extraneous or missing " in quoted-field`},
		{header + "ada,gw\"1,failures,0,1,2\n", `line 2, column 7: bare " in non-quoted-field`},
		{ // several at once
			header + "ada,gw-1,failures,0,x,y\nben,,failures,0,1,2\n",
			"line 2, column 21: likely \"x\": want a number from 0 to 1e15, such as 12.5\nline 2, column 23: max \"y\": want a number from 0 to 1e15, such as 12.5\n" +
				"line 3, column 5: server is empty: want a name",
		},
	} {
		if _, err := delphi.Read(strings.NewReader(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestReadStops(t *testing.T) {
	t.Parallel()

	_, err := delphi.Read(strings.NewReader(header + strings.Repeat("ada,gw-1,speed,0,1,2\n", 1000)))
	if n := strings.Count(fmt.Sprint(err), "\n"); n != 20 || !strings.Contains(err.Error(), "line 21,") || strings.Contains(err.Error(), "line 22,") {
		t.Errorf("a thousand faults: got %d lines more than one", n)
	}

	broken := errors.New("disk on fire")
	if _, err := delphi.Read(io.MultiReader(strings.NewReader(header), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// What is read is in range, whatever the bytes.
func FuzzRead(f *testing.F) {
	f.Add(header + "ada,gw-1,failures,0,1,2\n")
	f.Add(header + "ada,total,response,1,2,3\nben,gw-1,active-requests,0,0,0\n")
	f.Add("")

	f.Fuzz(func(t *testing.T, text string) {
		round, err := delphi.Read(strings.NewReader(text))
		if err != nil {
			if !strings.Contains(err.Error(), "line ") {
				t.Fatalf("%v names no line", err)
			}

			return
		}

		for _, a := range round {
			if a.Expert == "" || a.Server == "" || !slices.Contains(policy.Factors(), a.Factor) || !(0 <= a.Min && a.Min <= a.Likely && a.Likely <= a.Max) {
				t.Fatalf("read %+v", a)
			}
		}

		if len(round) == 0 {
			return
		}

		r, err := delphi.Panel{Experts: len(round)}.Evaluate(round)
		if err != nil || !(r.Answered > 0 && r.Answered <= 1) || !(r.Disagreeing >= 0 && r.Disagreeing <= 1) {
			t.Fatalf("%+v, %v of %+v", r, err, round)
		}
	})
}
