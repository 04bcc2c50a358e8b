package config

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const referenceFile = "../../docs/configuration.md"

// TestReference holds docs/configuration.md to the structs. With -update it
// writes it:
//
//	go test ./farms/config -run TestReference -update
func TestReference(t *testing.T) {
	t.Parallel()
	want := reference(t)
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(referenceFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(readFile(t, referenceFile))); diff != "" {
		t.Errorf("docs/configuration.md is not what the structs say; run: go test ./farms/config -run TestReference -update\n%s", diff)
	}
}

// The flag is read by name in TestReference: a package variable would be
// mutable state.
var _ = flag.Bool("update", false, "write docs/configuration.md instead of comparing it")

const referenceHead = `# Configuration

<!-- Made from the comments in farms/config by: go test ./farms/config -run TestReference -update -->

One JSON document (RFC 8259, UTF-8, at most 64 MiB). ` + "`config.example.json`" + ` is one to begin with; a file of SmartMEDIA's
loads as it is, and the keys marked in the column *SM* are SmartMEDIA's, with its names and units.

- Durations are seconds; fractions are allowed.
- Keys that begin with ` + "`_`" + ` are comments, at any depth and with any value. Every other key that is not listed here is an
  error, and so is a key that is there twice, a wrong type, a value beyond its limits and ` + "`null`" + `: leave a key out to have its default.
- File names are relative to the directory of the document.
- Everything wrong with a document is reported at once, each thing with the path of its key. Warnings name what is allowed and
  probably not meant. A document with an error is refused whole; the one before it stays in use.
`

func reference(t *testing.T) string {
	t.Helper()
	comments := commentsOf(t)
	var b strings.Builder
	b.WriteString(referenceHead)
	var write func(path string, typ reflect.Type)
	write = func(path string, typ reflect.Type) {
		b.WriteString("\n## " + path + "\n\n" + comments[typ.Name()] + "\n\n")
		b.WriteString("| Key | Type | Default | SM | Meaning |\n|---|---|---|---|---|\n")
		type nested struct {
			path string
			typ  reflect.Type
		}
		var inner []nested
		for _, f := range planOf(typ) {
			sf := typ.Field(f.position)
			comment := comments[typ.Name()+"."+sf.Name]
			if comment == "" {
				t.Errorf("%s.%s has no comment", typ.Name(), sf.Name)
			}
			sm := ""
			if sf.Tag.Get("smartmedia") != "" {
				sm = "yes"
			}
			cells := []string{"`" + f.key + "`", typeText(sf.Type, &f), defaultText(sf.Type, &f, comment), sm, strings.ReplaceAll(strings.TrimSuffix(comment, " Required."), "|", `\|`)}
			b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
			if sf.Type == reflect.TypeFor[Server]() {
				continue // the defaults of servers are described with them
			}
			switch e := elementOf(sf.Type); {
			case e.Kind() != reflect.Struct || e.PkgPath() != typ.PkgPath() || e == reflect.TypeFor[Ignored]():
			case sf.Type.Kind() == reflect.Slice:
				inner = append(inner, nested{path + "." + f.key + "[]", e})
			default:
				inner = append(inner, nested{path + "." + f.key, e})
			}
		}
		for _, n := range inner {
			write(n.path, n.typ)
		}
	}
	document := reflect.TypeFor[Document]()
	for _, f := range planOf(document) {
		write(f.key, elementOf(document.Field(f.position).Type))
	}
	return b.String()
}

func elementOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// typeText says what a key holds and within which limits.
func typeText(t reflect.Type, f *field) string {
	limited := func(text, unit string) string {
		switch {
		case !f.limits.set:
			return text
		case unit != "" && f.limits.low == 0:
			return text + ", at most " + formatNumber(f.limits.top) + unit
		default:
			return text + ", " + formatNumber(f.limits.low) + "–" + formatNumber(f.limits.top) + unit
		}
	}
	if f.enum != nil {
		return "`" + strings.Join(f.enum, "`, `") + "`"
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return limited("seconds", "")
	case reflect.TypeFor[time.Time]():
		return "time"
	case reflect.TypeFor[netip.Addr]():
		return "IP address"
	case reflect.TypeFor[*time.Location]():
		return "time zone"
	case reflect.TypeFor[Secret]():
		return "string or `{\"file\": …}`"
	case reflect.TypeFor[Ignored]():
		return "anything"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return limited("integer", "")
	case reflect.Float64:
		return limited("number", "")
	case reflect.String:
		return limited("string", " bytes")
	case reflect.Map:
		return limited(map[reflect.Kind]string{reflect.Float64: "object of numbers", reflect.String: "object of strings"}[t.Elem().Kind()], " entries")
	case reflect.Slice:
		switch e := t.Elem(); {
		case e == reflect.TypeFor[netip.Prefix]():
			return limited("array of CIDRs", " entries")
		case e.Kind() == reflect.Struct:
			return limited("array of objects", " entries")
		default:
			return limited("array of strings", " entries")
		}
	default:
		return "object"
	}
}

func defaultText(t reflect.Type, f *field, comment string) string {
	switch {
	case f.fallback != "" && (t.Kind() == reflect.Bool || t.Kind() == reflect.Int || t.Kind() == reflect.Float64 || t == reflect.TypeFor[time.Duration]()):
		return f.fallback
	case f.fallback != "":
		return "`" + f.fallback + "`"
	case strings.HasSuffix(comment, "Required."):
		return "required"
	default:
		return "–"
	}
}

// commentsOf returns the comments of the package's structs, by "Type", and of
// their fields, by "Type.Field", each in one line.
func commentsOf(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				typ := spec.(*ast.TypeSpec)
				fields, ok := typ.Type.(*ast.StructType)
				if !ok {
					continue
				}
				out[typ.Name.Name] = oneLine(gen.Doc)
				for _, f := range fields.Fields.List {
					for _, id := range f.Names {
						out[typ.Name.Name+"."+id.Name] = oneLine(f.Doc)
					}
				}
			}
		}
	}
	return out
}

func oneLine(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
