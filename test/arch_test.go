package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector"
	"github.com/pointsman-tv/pointsman/test/rig"
)

const module = "github.com/pointsman-tv/pointsman/"

// room is one package in the plan: which of our own it may import, and why no
// other. A planned one is in DESIGN's house and need not be there yet.
type room struct {
	pkg     string
	may     []string
	because string
	planned bool
}

// house is the plan of the packages. Tests are free: they join what they test. A
// new package needs a row.
var house = []room{
	{pkg: "farms", because: "the domain is pure: no I/O, no clock, no logger, and nothing of ours below it, so that every door and every machine decides alike"},
	{pkg: "farms/config", may: []string{"farms"}, because: "it turns a document into the domain's spec; what a listener or a probe makes of it is the command's to translate"},
	{pkg: "archive", may: []string{"farms"}, because: "channel and window from a URL, and the arithmetic of coverage: pure, so that tables alone test it"},
	{pkg: "steering", because: "manifests, sessions and feedback are pure, the file of its keys apart: what a pathway is it is told"},
	{pkg: "steering/playlist", because: "a leaf that reads and edits playlists losslessly for whoever needs it: probes now, doors later"},
	{pkg: "probe/fetch", may: []string{"farms"}, because: "the one bounded client that talks to servers; it knows how to ask, not what answers mean"},
	{pkg: "probe/api", may: []string{"archive", "farms", "probe/fetch"}, because: "it asks one vendor's interface; when to ask is the board's"},
	{pkg: "probe", may: []string{"archive", "farms", "probe/api", "probe/fetch", "steering/playlist"}, because: "probes find out facts; who uses them declares what it needs, so the edge is unknown here"},
	{pkg: "redirector/clientip", because: "addresses are found before anything else is known, and hooks and RTSP will ask the same"},
	{pkg: "redirector/notify", because: "who is told of alarms and when: no I/O and nothing of ours, so that fake time tests it; what an alarm is the command translates"},
	{pkg: "redirector/gzipped", because: "one way to compress a body, for the edge and for the pages beside it"},
	{pkg: "redirector/status", may: []string{"farms", "redirector/gzipped"}, because: "it draws what it is handed: shapes, pages and their updates; who gathers is the edge"},
	{pkg: "redirector", may: []string{"archive", "farms", "redirector/clientip", "redirector/gzipped", "redirector/status", "steering", "steering/playlist"}, because: "it sees health through the small interface it declares, never through probe: then it is tested without a network, and another prober can stand in"},
	{pkg: "cmd/pointsman/demo", because: "its servers and its page are strangers to the redirector, as an operator's are"},
	{pkg: "cmd/pointsman/plan", may: []string{"farms"}, because: "the arithmetic of plans is pure: viewers and tables come in, a report goes out"},
	{pkg: "cmd/pointsman", may: []string{"archive", "cmd/pointsman/demo", "cmd/pointsman/plan", "farms", "farms/config", "probe", "probe/api", "probe/fetch", "redirector", "redirector/clientip", "redirector/notify", "steering", "steering/playlist"}, because: "the only place where all packages meet"},
	{pkg: "test/rig", because: "it sees the binary from outside, as an operator does"},
	{pkg: "test/bench", may: []string{"test/rig"}, because: "it measures the binary from outside"},
	{pkg: "test", because: "it is tests alone"},
}

// libraries are the required libraries that have one place.
var libraries = []struct {
	path    string // import path, or the beginning of one
	in      []string
	because string
}{
	{"github.com/redis/go-redis", nil, "state in Redis comes with redirector/state, which will be its only importer"},
	{"github.com/go-chi/chi", []string{"redirector"}, "the admin listener is routed by it; viewers never are: a router cleans paths"},
	{"github.com/prometheus/", []string{"redirector"}, "labels come from closed sets, which one package can watch over"},
	{"github.com/yl2chen/cidranger", []string{"probe/fetch", "redirector/clientip"}, "it is for small sets; a table's prefixes are flat ranges, and tests compare the two"},
	{"github.com/rs/zerolog", []string{"redirector", "cmd/pointsman"}, "the domain and the probes log nothing: they tell, and the command decides what is said"},
	{"net/http/pprof", []string{"redirector"}, "importing it adds to the default mux; the admin listener alone has it"},
}

// goPackage is what is read of `go list -json`.
type goPackage struct {
	Dir, ImportPath string
	GoFiles         []string
	IgnoredGoFiles  []string
	Imports         []string
}

func (p *goPackage) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// packages lists every package of the module.
func packages(t *testing.T) []*goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,GoFiles,IgnoredGoFiles,Imports", "./...")
	cmd.Dir = rig.Root()
	out, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("%v: %s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	var list []*goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(goPackage)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func TestImportDirections(t *testing.T) {
	t.Parallel()
	rows := map[string]int{}
	for i, row := range house {
		rows[row.pkg] = i
	}
	seen := map[string]bool{}
	for _, p := range packages(t) {
		seen[p.name()] = true
		i, ok := rows[p.name()]
		if !ok && strings.HasPrefix(p.name(), "test/") {
			continue // what helps tests; nothing else may import it
		}
		if !ok {
			t.Errorf("package %s has no row in the plan of the house: say what it may import, and why no more", p.name())
			continue
		}
		for _, path := range p.Imports {
			ours, found := strings.CutPrefix(path, module)
			if found && !slices.Contains(house[i].may, ours) {
				t.Errorf("%s imports %s, and may not: %s", p.name(), ours, house[i].because)
			}
			for _, l := range libraries {
				if strings.HasPrefix(path, l.path) && !slices.Contains(l.in, p.name()) {
					t.Errorf("%s imports %s, and may not: %s", p.name(), path, l.because)
				}
			}
		}
	}
	for _, row := range house {
		if !seen[row.pkg] && !row.planned {
			t.Errorf("package %s is in the plan of the house and is gone", row.pkg)
		}
		for _, may := range row.may {
			if i, ok := rows[may]; !ok || !seen[may] && !house[i].planned {
				t.Errorf("%s may import %s, which is gone", row.pkg, may)
			}
		}
	}
	for _, l := range libraries {
		for _, pkg := range l.in {
			if !seen[pkg] {
				t.Errorf("%s may import %s, and is gone", pkg, l.path)
			}
		}
	}
}

// sleepers are the files outside of tests that may call time.Sleep.
var sleepers = map[string]string{
	"test/rig/rig.go":       "it waits for another process, of which nothing else tells",
	"test/bench/servers.go": "it waits for another process to listen",
}

// TestNothingHappensByItself: an init function runs before anybody asked, and
// whoever sleeps cannot be told to stop.
func TestNothingHappensByItself(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, p := range packages(t) {
		for _, name := range append(p.GoFiles, p.IgnoredGoFiles...) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			rel := p.name() + "/" + name
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv == nil && n.Name.Name == "init" {
						t.Errorf("%s: an init function; make it a call of whoever needs it", fset.Position(n.Pos()))
					}
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name == "Sleep" {
						used[rel] = true
						if sleepers[rel] == "" {
							t.Errorf("%s: time.Sleep; wait with a timer and a context", fset.Position(n.Pos()))
						}
					}
				}
				return true
			})
		}
	}
	for rel := range sleepers {
		if !used[rel] {
			t.Errorf("%s may sleep and does not: take it off the list", rel)
		}
	}
}

// TestWordsAreDocumented: the reasons and the whys are an interface, and an
// operator who meets one looks it up.
func TestWordsAreDocumented(t *testing.T) {
	t.Parallel()
	text := documents(t)
	for _, r := range farms.Reasons() {
		if !strings.Contains(text, "`"+r.String()+"`") {
			t.Errorf("reason `%s` is neither in README.md nor in docs", r)
		}
	}
	for _, w := range farms.Whys() {
		if !strings.Contains(text, "`"+w.String()+"`") {
			t.Errorf("why `%s` is neither in README.md nor in docs", w)
		}
	}
	for _, alarm := range redirector.AlarmCodes() {
		if !strings.Contains(text, "`"+alarm+"`") {
			t.Errorf("alarm `%s` is neither in README.md nor in docs", alarm)
		}
	}
}

// documents returns README.md and everything in docs.
func documents(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(rig.Root(), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, file := range append(files, filepath.Join(rig.Root(), "README.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}
