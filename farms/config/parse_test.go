package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman-tv/pointsman/farms"
)

func TestSmartMediaFileLoadsUnchanged(t *testing.T) {
	t.Parallel()
	d, findings := Parse(Source{Data: readFile(t, "testdata/smartmedia.json")})
	if d == nil {
		t.Fatalf("refused: %v", texts(findings))
	}
	want := []string{`warning core.protocol: is missing and is "http" here; SmartMEDIA listens for FastCGI, for which it is "fastcgi"`}
	if diff := cmp.Diff(want, texts(findings)); diff != "" {
		t.Errorf("findings: %s", diff)
	}
	if d.Core.Port != 9201 || d.Redirection.RequestTimeout != 4*time.Second || d.Redirection.LiveCacheTime != 8*time.Second {
		t.Errorf("values were not taken over: %+v", d)
	}
	spec := d.Spec()
	if got, want := spec.Servers[0].URL, "http://10.20.1.11:80"; got != want {
		t.Errorf("url = %q, expected %q", got, want)
	}
	if got, want := spec.Servers[0].Name, "10.20.1.11:80"; got != want {
		t.Errorf("name = %q, expected %q", got, want)
	}
	table, err := farms.Build(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	if l := table.Locate(netip.MustParseAddr("2001:db8:22::1"), "", "/x"); l == nil || l.Index != 1 {
		t.Errorf("2001:db8:22::1 is located in %v, expected location 1", l)
	}
}

func TestExampleIsWithoutFindings(t *testing.T) {
	t.Parallel()
	d, findings := Parse(Source{Data: readFile(t, "../../config.example.json")})
	if d == nil || len(findings) > 0 {
		t.Errorf("findings: %s", strings.Join(texts(findings), "\n"))
	}
}

func TestDefaultsAreWithinTheirLimits(t *testing.T) {
	t.Parallel()
	fields := 0
	var walk func(t reflect.Type)
	walk = func(typ reflect.Type) {
		for _, f := range planOf(typ) {
			fields++
			sf := typ.Field(f.position)
			if tag := sf.Tag.Get("limits"); tag != "" && fmt.Sprintf("%s..%s", formatNumber(f.limits.low), formatNumber(f.limits.top)) != tag {
				t.Errorf("%s.%s: limits %q are not well formed", typ, sf.Name, tag)
			}
			if sf.Type == reflect.TypeFor[time.Duration]() && !f.limits.set {
				t.Errorf("%s.%s: a duration without limits", typ, sf.Name)
			}
			if f.fallback != "" {
				v := reflect.New(typ).Elem()
				l := &loader{}
				text := f.fallback
				k := kindNumber
				switch sf.Type.Kind() {
				case reflect.String, reflect.Uint8, reflect.Struct, reflect.Pointer:
					k = kindString
				case reflect.Bool:
					k = kindBoolean
				}
				l.bind(&node{kind: k, text: text}, v.Field(f.position), &f)
				if l.failed() {
					t.Errorf("%s.%s: the default is refused: %v", typ, sf.Name, texts(l.findings()))
				}
				set := reflect.New(typ).Elem()
				setDefaults(set)
				if !reflect.DeepEqual(v.Field(f.position).Interface(), set.Field(f.position).Interface()) {
					t.Errorf("%s.%s: the default %q is not what is read from the same text", typ, sf.Name, text)
				}
			}
			inner := sf.Type
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && inner.PkgPath() == typ.PkgPath() && sf.Name != "Defaults" {
				walk(inner)
			}
		}
	}
	walk(reflect.TypeFor[Document]())
	if fields < 80 {
		t.Errorf("%d fields, expected the walk to find them all", fields)
	}
}

func TestPolicyWordsAreTheCores(t *testing.T) {
	t.Parallel()
	f, _ := reflect.TypeFor[Farm]().FieldByName("Policy")
	if diff := cmp.Diff(farms.PolicyNames(), strings.Split(f.Tag.Get("enum"), ",")); diff != "" {
		t.Error(diff)
	}
	f, _ = reflect.TypeFor[Server]().FieldByName("State")
	for _, word := range strings.Split(f.Tag.Get("enum"), ",") {
		if _, ok := farms.ParseState(word); !ok {
			t.Errorf("%q is no state", word)
		}
	}
}

func TestFarmDefaultsAndOwnKeys(t *testing.T) {
	t.Parallel()
	d, findings := parse(`{"redirection": {"uri_path": "/", "farms": [{"name": "a",
		"servers": [
			{"url": "http://Edge.Example/live/", "weight": 3},
			{"url": "https://[2001:DB8::1]:8443", "tags": {"rack": "7"}, "status_path": "/up"}],
		"defaults": {"weight": 2, "tags": {"site": "x"}, "status_path": "/health", "probe_headers": {"x-key": {"file": "key"}},
			"probe_query": {"b": "2 3", "a": "&"}, "state": "draining", "drain_until": 1767225600.5}
		}], "locations": [{"farms": ["a"], "ip_mask": ["0.0.0.0/0", "::/0"]}]}}`, map[string]string{"key": "s3cret\r\n"})
	if d == nil {
		t.Fatal(texts(findings))
	}
	want := []farms.ServerSpec{
		{
			Name: "edge.example:80/live", URL: "http://edge.example/live", Tags: map[string]string{"site": "x"},
			State: farms.StateDraining, DrainUntil: time.Date(2026, 1, 1, 0, 0, 0, 5e8, time.UTC), StatusPath: "/health",
			ProbeHeaders: []farms.Header{{Name: "X-Key", Value: "s3cret"}}, ProbeQuery: "a=%26&b=2+3",
			Type: "generic",
		},
		{
			Name: "[2001:db8::1]:8443", URL: "https://[2001:db8::1]:8443", Tags: map[string]string{"rack": "7"},
			State: farms.StateDraining, DrainUntil: time.Date(2026, 1, 1, 0, 0, 0, 5e8, time.UTC), StatusPath: "/up",
			ProbeHeaders: []farms.Header{{Name: "X-Key", Value: "s3cret"}}, ProbeQuery: "a=%26&b=2+3",
			Type: "generic",
		},
	}
	spec := d.Spec()
	if diff := cmp.Diff(want, spec.Servers); diff != "" {
		t.Error(diff)
	}
	if w := spec.Farms[0].Members; w[0].Weight != 3 || w[1].Weight != 2 {
		t.Errorf("weights are %v, expected 3 and 2", w)
	}
}

func TestOneServerInTwoFarms(t *testing.T) {
	t.Parallel()
	d, findings := parse(`{"redirection": {"uri_path": "/", "sticky_sec": 60, "farms": [
		{"name": "a", "servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}]},
		{"name": "b", "servers": [{"url": "http://192.0.2.1:80/", "weight": 2}, {"url": "http://192.0.2.3"}]}],
		"locations": [{"farms": ["a", "b"], "ip_mask": ["0.0.0.0/0", "::/0"]}]}}`, nil)
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	if n := len(d.Spec().Servers); n != 3 {
		t.Errorf("%d servers, expected 3", n)
	}
}

func TestPrefixForms(t *testing.T) {
	t.Parallel()
	d, findings := parse(change(t, `"ip_mask": ["0.0.0.0/0", "::/0"]`,
		`"ip_mask": "10.0.0.1", "ip_mask_files": ["one.txt", "two.txt"]`), map[string]string{
		"one.txt": "\ufeff# the north\r\n10.1.0.0/16 # inline\r\n\r\n ::ffff:10.2.0.0/112 ",
		"two.txt": "2001:db8::1\n10.3.0.1/16",
	})
	if d == nil {
		t.Fatal(texts(findings))
	}
	want := []string{"10.0.0.1/32", "10.1.0.0/16", "10.2.0.0/16", "2001:db8::1/128", "10.3.0.0/16"}
	var got []string
	for _, p := range d.Spec().Locations[0].Prefixes {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	masked := `warning redirection.locations[0].ip_mask_files[1]: "conf/two.txt" line 2: is "10.3.0.1/16", which has bits behind the prefix length; it is taken as 10.3.0.0/16`
	if !strings.Contains(strings.Join(texts(findings), "\n"), masked) {
		t.Errorf("no warning about host bits in %v", texts(findings))
	}
}

func TestTokensAreReadAndHidden(t *testing.T) {
	t.Parallel()
	d, findings := parse(section(t, "admin", `{"interface": "0.0.0.0", "read_token_file": "read", "act_token_file": "act"}`),
		map[string]string{"read": "reading-reading-reading\n", "act": "acting-acting-acting"})
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	if d.Admin.ReadToken.Reveal() != "reading-reading-reading" || d.Admin.ActToken.Reveal() != "acting-acting-acting" {
		t.Errorf("tokens are %q and %q", d.Admin.ReadToken.Reveal(), d.Admin.ActToken.Reveal())
	}
	d.Redirection.Farms[0].Servers[0].ProbeHeaders = map[string]Secret{"X-Key": "acting-acting"}
	asJSON, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{string(asJSON), fmt.Sprintf("%v %+v %#v %q", d, d.Admin, d.Admin, d.Admin.ActToken), fmt.Sprintf("%x", d.Admin.ActToken)} {
		if strings.Contains(printed, "acting-") || strings.Contains(printed, "reading-") || strings.Contains(printed, "616374696e67") {
			t.Errorf("a token is printed in %s", printed)
		}
	}

	d, findings = parse(section(t, "admin", `{"interface": "::", "token_file": "both"}`), map[string]string{"both": "for-both-for-both\n"})
	if d == nil || d.Admin.ReadToken != "for-both-for-both" || d.Admin.ActToken != d.Admin.ReadToken {
		t.Errorf("token_file is not taken for both: %v", texts(findings))
	}
}

func TestOwnListener(t *testing.T) {
	t.Parallel()
	local := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	for _, tc := range []struct {
		name, core, url string
		own             bool
	}{
		{"loopback", `{}`, "http://127.0.0.1:9201", true},
		{"other_loopback", `{}`, "http://127.8.8.8:9201", true},
		{"loopback_v6", `{}`, "http://[::1]:9201", true},
		{"localhost", `{}`, "http://localhost:9201/x", true},
		{"admin", `{}`, "http://localhost:9202", true},
		{"other_port", `{}`, "http://localhost:9203", false},
		{"default_port", `{"port": 80}`, "http://localhost", true},
		{"local_address", `{}`, "http://192.0.2.1:9201", true},
		{"local_address_not_bound", `{"interface": "192.0.2.7"}`, "http://192.0.2.1:9201", false},
		{"bound_address", `{"interface": "192.0.2.7"}`, "http://192.0.2.7:9201", true},
		{"other_host", `{}`, "http://192.0.2.9:9201", false},
		{"core_hosts", `{"hosts": ["TV.example"]}`, "http://tv.Example:9201", true},
		{"core_hosts_other_port", `{"hosts": ["tv.example"]}`, "http://tv.example:8080", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(section(t, "core", tc.core), "http://192.0.2.2", tc.url, 1)
			_, findings := Parse(Source{Data: []byte(text), LocalAddrs: local})
			got := strings.Contains(strings.Join(texts(findings), "\n"), "is our own listener")
			if got != tc.own {
				t.Errorf("own listener: %v, expected %v; %v", got, tc.own, texts(findings))
			}
		})
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1000)
	text := `{"` + long + `": 1, "redirection": {"farms": [` + strings.Repeat(`"`+long+`",`, 500) + `1], "locations": "` + long + `"}}`
	_, findings := parse(text, nil)
	if len(findings) != maxFindings+1 {
		t.Errorf("%d findings, expected %d and a count", len(findings), maxFindings)
	}
	if got, want := findings[maxFindings].String(), "error: and 303 more errors"; got != want {
		t.Errorf("last is %q, expected %q", got, want)
	}
	for _, f := range findings {
		if n := len(f.String()); n > 1000 {
			t.Errorf("a finding of %d bytes", n)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	_, findings := Parse(Source{Data: make([]byte, maxDocumentBytes+1)})
	want := []string{"error: the document has 67108865 bytes, expected at most 67108864"}
	if diff := cmp.Diff(want, texts(findings)); diff != "" {
		t.Error(diff)
	}
	_, findings = Parse(Source{Data: []byte("[" + strings.Repeat("0,", maxValues) + "0]")})
	want = []string{"error line 1 column 4000000: the document has more than 2000000 values"}
	if diff := cmp.Diff(want, texts(findings)); diff != "" {
		t.Error(diff)
	}
}

// manyPrefixes is a document with n prefixes, a quarter of them IPv6, in 100
// locations.
func manyPrefixes(n int) []byte {
	var b strings.Builder
	before, after, _ := strings.Cut(minimal, `"locations": [`)
	b.WriteString(before + `"locations": [`)
	const locations = 100
	for i := range locations {
		b.WriteString(`{"farms": ["a"], "ip_mask": [`)
		for j := range n / locations {
			if j > 0 {
				b.WriteString(", ")
			}
			if x := i*(n/locations) + j; x%4 == 0 {
				fmt.Fprintf(&b, `"2001:db8:%x:%x00::/56"`, x>>8, x&255)
			} else {
				fmt.Fprintf(&b, `"%d.%d.%d.0/24"`, 10+x>>16, x>>8&255, x&255)
			}
		}
		b.WriteString(`]}, `)
	}
	b.WriteString(after)
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		data := manyPrefixes(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if d, findings := Parse(Source{Data: data}); d == nil || len(findings) > 0 {
					b.Fatal(texts(findings))
				}
			}
		})
	}
}
