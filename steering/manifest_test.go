package steering

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestAppendManifest(t *testing.T) {
	t.Parallel()
	uri := `https://steer.example.com/steering/sports1?sig=a~b%2F=&q=<"x\y">&pm_sid=AQ`
	for _, c := range []struct {
		name     string
		reload   string
		priority []string
		clones   []Clone
		want     string
	}{
		{
			"plain", uri,
			[]string{"a", "b"},
			nil,
			`{"VERSION":1,"TTL":300,"RELOAD-URI":"https://steer.example.com/steering/sports1?sig=a~b%2F=&q=<\"x\\y\">&pm_sid=AQ","PATHWAY-PRIORITY":["a","b"]}`,
		},
		{"empty_clones", "https://s/", []string{"a"}, []Clone{}, `{"VERSION":1,"TTL":300,"RELOAD-URI":"https://s/","PATHWAY-PRIORITY":["a"]}`},
		{"no_reload", "", []string{"a"}, nil, `{"VERSION":1,"TTL":300,"PATHWAY-PRIORITY":["a"]}`},
		{"no_priority", "https://s/", nil, nil, `{"VERSION":1,"TTL":300,"RELOAD-URI":"https://s/","PATHWAY-PRIORITY":[]}`},
		{
			"clones", "https://s/",
			[]string{"a", "c", "d"},
			[]Clone{
				{Base: "a", ID: "c", Host: "c.example.com"},
				{
					Base: "c", ID: "d", Host: "d.example.com", Params: []KeyValue{{"k", "v%20w"}, {"l", ""}},
					PerVariant: []KeyValue{{"v1", "https://d/v1"}}, PerRendition: []KeyValue{{"r1", "https://d/r1"}, {"r2", "https://d/r2"}},
				},
				{Base: "a", ID: "e"},
				{Base: "a", ID: "f", PerVariant: []KeyValue{{"v1", "https://f/v1"}}},
			},
			`{"VERSION":1,"TTL":300,"RELOAD-URI":"https://s/","PATHWAY-PRIORITY":["a","c","d"],"PATHWAY-CLONES":[` +
				`{"BASE-ID":"a","ID":"c","URI-REPLACEMENT":{"HOST":"c.example.com"}},` +
				`{"BASE-ID":"c","ID":"d","URI-REPLACEMENT":{"HOST":"d.example.com","PARAMS":{"k":"v%20w","l":""},` +
				`"PER-VARIANT-URIS":{"v1":"https://d/v1"},"PER-RENDITION-URIS":{"r1":"https://d/r1","r2":"https://d/r2"}}},` +
				`{"BASE-ID":"a","ID":"e","URI-REPLACEMENT":{}},` +
				`{"BASE-ID":"a","ID":"f","URI-REPLACEMENT":{"PER-VARIANT-URIS":{"v1":"https://f/v1"}}}]}`,
		},
		{"control_bytes", "a\x00\n\x1f\x7f", []string{"a"}, nil, `{"VERSION":1,"TTL":300,"RELOAD-URI":"a\u0000\u000a\u001f` + "\x7f" + `","PATHWAY-PRIORITY":["a"]}`},
		{"not_utf8", "a\xff\xc3(\u00e9\u2028", []string{"a"}, nil, "{\"VERSION\":1,\"TTL\":300,\"RELOAD-URI\":\"a\uFFFD\uFFFD(\u00e9\u2028\",\"PATHWAY-PRIORITY\":[\"a\"]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := AppendManifest([]byte("before"), 300, c.reload, c.priority, c.clones)
			if string(got) != "before"+c.want {
				t.Errorf("got  %s\nwant before%s", got, c.want)
			}
			if !json.Valid(got[len("before"):]) {
				t.Error("no JSON")
			}
		})
	}
}

// TestManifestIsSmall: check 17.
func TestManifestIsSmall(t *testing.T) {
	t.Parallel()
	priority := make([]string, 8)
	for i := range priority {
		priority[i] = strings.Repeat("p", MaxPathwayID)
	}
	if got := AppendManifest(nil, 3600, strings.Repeat("u", 2000), priority, nil); len(got) > 4096 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestAppendManifestAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	priority, clones := []string{"a", "b"}, []Clone{{Base: "a", ID: "c", Host: "c.example", Params: []KeyValue{{"k", "v"}}}}
	if n := testing.AllocsPerRun(100, func() { buf = AppendManifest(buf[:0], 300, "https://s/?a=\"&b", priority, clones) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// body is a manifest as players read it.
type body struct {
	Version  json.Number `json:"VERSION"`
	TTL      json.Number `json:"TTL"`
	Reload   *string     `json:"RELOAD-URI"`
	Priority []string    `json:"PATHWAY-PRIORITY"`
	Clones   []struct {
		Base        string `json:"BASE-ID"`
		ID          string `json:"ID"`
		Replacement struct {
			Host         *string           `json:"HOST"`
			Params       map[string]string `json:"PARAMS"`
			PerVariant   map[string]string `json:"PER-VARIANT-URIS"`
			PerRendition map[string]string `json:"PER-RENDITION-URIS"`
		} `json:"URI-REPLACEMENT"`
	} `json:"PATHWAY-CLONES"`
}

// FuzzAppendManifest: encoding/json reads what was put in, whatever it was.
func FuzzAppendManifest(f *testing.F) {
	f.Add(300, "https://s/?a=1&b=<\"\\>", "a", "b", "c.example", "k", "v")
	f.Add(-1, "\x00\x1f\u2028\xff\xed\xa0\x80", "", "\"", "\xf0\x9f\x93\xba", "", "\xc3")
	f.Add(1<<31, "", "a", "a", "", "", "")
	f.Fuzz(func(t *testing.T, ttl int, reload, first, second, host, key, value string) {
		pairs := []KeyValue{{key, value}}
		got := AppendManifest(nil, ttl, reload, []string{first, second}, []Clone{
			{Base: first, ID: second, Host: host, Params: pairs},
			{Base: second, ID: key, PerVariant: pairs, PerRendition: pairs},
		})
		var b body
		dec := json.NewDecoder(strings.NewReader(string(got)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&b); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if dec.More() || string(b.Version) != "1" || string(b.TTL) != itoa(int64(ttl)) {
			t.Fatalf("%q: version %s TTL %s", got, b.Version, b.TTL)
		}
		wantText := func(name string, got *string, want string) {
			t.Helper()
			if want == "" {
				if got != nil {
					t.Fatalf("%s: %q, want none", name, *got)
				}
			} else if got == nil || *got != asJSON(want) {
				t.Fatalf("%s is not %q", name, want)
			}
		}
		wantText("RELOAD-URI", b.Reload, reload)
		wantText("HOST", b.Clones[0].Replacement.Host, host)
		wantText("HOST", b.Clones[1].Replacement.Host, "")
		if !reflect.DeepEqual(b.Priority, []string{asJSON(first), asJSON(second)}) {
			t.Fatalf("priority %q", b.Priority)
		}
		want := map[string]string{asJSON(key): asJSON(value)}
		one, two := b.Clones[0], b.Clones[1]
		if one.Base != asJSON(first) || one.ID != asJSON(second) || !reflect.DeepEqual(one.Replacement.Params, want) || one.Replacement.PerVariant != nil {
			t.Fatalf("clone %+v", one)
		}
		if two.ID != asJSON(key) || two.Replacement.Params != nil || !reflect.DeepEqual(two.Replacement.PerVariant, want) || !reflect.DeepEqual(two.Replacement.PerRendition, want) {
			t.Fatalf("clone %+v", two)
		}
	})
}

// asJSON is what a string becomes on its way through JSON, which is UTF-8.
func asJSON(s string) string {
	return string([]rune(s)) // each byte that is not UTF-8 becomes U+FFFD
}
