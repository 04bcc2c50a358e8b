package config

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pointsman-tv/pointsman/farms"
)

func FuzzParse(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(names, "../../config.example.json") {
		f.Add(readSeed(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, findings := Parse(Source{Data: data, ReadFile: func(string) ([]byte, error) { return []byte("10.0.0.0/8\n"), nil }})
		errors := 0
		for _, x := range findings {
			if x.Severity == Error {
				errors++
			}
			if n := len(x.String()); n > 4*1024 {
				t.Errorf("a finding of %d bytes", n)
			}
		}
		if len(findings) > 2*(maxFindings+1) {
			t.Errorf("%d findings", len(findings))
		}
		if (d == nil) != (errors > 0) {
			t.Fatalf("document %v with %d errors", d != nil, errors)
		}
		if d == nil {
			return
		}
		if !json.Valid(data) {
			t.Error("accepted what is not JSON")
		}
		table, err := farms.Build(d.Spec(), 1)
		if err != nil {
			t.Fatalf("accepted, and it does not build: %v", err)
		}
		if d.Steering == nil {
			return
		}
		met := map[string]bool{}
		for _, p := range table.Pathways {
			if !isPathwayID(p.ID) || met[p.ID] {
				t.Errorf("accepted, and the pathway %q is no id or there twice", p.ID)
			}
			met[p.ID] = true
		}
	})
}

// FuzzScan compares the scanner with encoding/json, which takes everything that
// we take, and no more than a few known things besides.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, -0.5e+3, true, null, "\u00e9\ud83d\ude00\n"], "b": {}}`, `[1e5, 0, 0.0]`, ` "x" `, `[,]`, `{"a" 1}`, `01`, `-`, `1.`, `1e`, `"\ud800\u0041"`, "\"\x7f\"", `"\`, `tru`, `[1 2]`, `“a”`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &report{text: text}
		root := scan(text, r)
		valid := json.Valid([]byte(text))
		if (root == nil) == (len(r.findings()) == 0) && !strings.HasPrefix(text, "\ufeff") {
			t.Errorf("root %v with findings %v", root, texts(r.findings()))
		}
		switch {
		case root != nil && len(r.listed[Error]) == 0 && !valid:
			t.Errorf("%q is read and is not JSON", text)
		case root == nil && valid && utf8.ValidString(text):
			if m := r.listed[Error][0].Message; !strings.Contains(m, "surrogate") && !strings.Contains(m, "nested") {
				t.Errorf("%q is JSON and is refused: %s", text, m)
			}
		case root != nil && root.kind == kindString:
			var want string
			if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &want); err != nil || want != root.text {
				t.Errorf("%q is read as %q, expected %q", text, root.text, want)
			}
		}
	})
}

// FuzzWebAddress holds that what is accepted comes back as itself.
func FuzzWebAddress(f *testing.F) {
	for _, seed := range []string{"http://192.0.2.1:80/", "https://[2001:db8::1]/live/a%20b", "HTTP://Edge.Example:8080", "http://a..b", "http://[::1", "http://a:1:2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, problem := parseWebAddress(text)
		if problem != "" {
			return
		}
		again, problem := parseWebAddress(u.String())
		if problem != "" || again != u {
			t.Errorf("%q is read as %+v, and %q as %+v %s", text, u, u.String(), again, problem)
		}
	})
}

func readSeed(f *testing.F, name string) []byte {
	f.Helper()
	data, err := readRegular(name, maxDocumentBytes)
	if err != nil {
		f.Fatalf("reading a seed: %v", err)
	}
	return data
}
