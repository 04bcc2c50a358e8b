package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman-tv/pointsman/farms"
)

// apiSpec is what a spec says about a server's API.
type apiSpec struct {
	Type, APIURL, APIUser, APISecret string
	Separate                         bool
}

func apiSpecs(spec *farms.Spec) []apiSpec {
	var out []apiSpec
	for _, s := range spec.Servers {
		out = append(out, apiSpec{s.Type, s.APIURL, s.APIUser, s.APISecret, s.Separate})
	}
	return out
}

func TestAPIDefaultsByType(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, server string
		want         apiSpec
	}{
		{"absent", `{"url": "http://192.0.2.7:8080"}`, apiSpec{Type: "generic"}},
		{"generic", `{"url": "http://192.0.2.7:8080", "type": "generic", "containers": "separate"}`, apiSpec{Type: "generic", Separate: true}},
		{"flussonic", `{"url": "https://Edge.Example/tv/", "type": "flussonic"}`, apiSpec{Type: "flussonic", APIURL: "https://edge.example/tv"}},
		{"nimble", `{"url": "https://edge.example:8443/tv", "type": "nimble"}`, apiSpec{Type: "nimble", APIURL: "http://edge.example:8082", Separate: true}},
		{"nimble_shared", `{"url": "http://192.0.2.7", "type": "nimble", "containers": "shared"}`, apiSpec{Type: "nimble", APIURL: "http://192.0.2.7:8082"}},
		{"mistserver", `{"url": "http://192.0.2.7:8080", "type": "mistserver"}`, apiSpec{Type: "mistserver", APIURL: "http://192.0.2.7:8080"}},
		{"mediamtx", `{"url": "http://[2001:DB8::7]:8888", "type": "mediamtx"}`, apiSpec{Type: "mediamtx", APIURL: "http://[2001:db8::7]:9997"}},
		{"wowza", `{"url": "http://192.0.2.7:1935", "type": "wowza"}`, apiSpec{Type: "wowza", APIURL: "http://192.0.2.7:8087"}},
		{"antmedia", `{"url": "http://192.0.2.7:5080", "type": "antmedia"}`, apiSpec{Type: "antmedia", APIURL: "http://192.0.2.7:5080"}},
		{
			"said", `{"url": "http://192.0.2.7", "type": "wowza", "api_url": "HTTPS://Api.Example:8443/v/", "api_user": "reader", "api_secret": {"file": "secret"}}`,
			apiSpec{Type: "wowza", APIURL: "https://api.example:8443/v", APIUser: "reader", APISecret: "hidden-hidden"},
		},
		{
			"secret_alone", `{"url": "http://10.0.0.7", "type": "flussonic", "api_secret": "hidden-hidden"}`,
			apiSpec{Type: "flussonic", APIURL: "http://10.0.0.7", APISecret: "hidden-hidden"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, findings := parse(change(t, `{"url": "http://192.0.2.2"}`, tc.server), map[string]string{"secret": "hidden-hidden\n"})
			if d == nil || len(findings) > 0 {
				t.Fatal(texts(findings))
			}
			if diff := cmp.Diff(tc.want, apiSpecs(d.Spec())[1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAPIDefaultsOfFarm has servers of several types in one farm: what is said
// for all of them about an API is not for the generic one.
func TestAPIDefaultsOfFarm(t *testing.T) {
	t.Parallel()
	d, findings := parse(change(t, `"servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}]`,
		`"defaults": {"type": "nimble", "api_user": "u", "api_secret": "s"}, "servers": [{"url": "http://10.0.0.1"},
		{"url": "http://10.0.0.2", "type": "flussonic", "api_secret": "t"}, {"url": "http://10.0.0.3", "type": "generic"}]`), nil)
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	want := []apiSpec{
		{"nimble", "http://10.0.0.1:8082", "u", "s", true},
		{"flussonic", "http://10.0.0.2", "u", "t", false},
		{Type: "generic"},
	}
	if diff := cmp.Diff(want, apiSpecs(d.Spec())); diff != "" {
		t.Error(diff)
	}
}

func TestAPISecretIsHidden(t *testing.T) {
	t.Parallel()
	d, findings := parse(change(t, `{"url": "http://192.0.2.2"}`,
		`{"url": "http://10.0.0.2", "type": "flussonic", "api_user": "u", "api_secret": "hidden-hidden"}`), nil)
	if d == nil {
		t.Fatal(texts(findings))
	}
	asJSON, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{string(asJSON), fmt.Sprintf("%v %+v %#v", d, d.Redirection, d.Redirection)} {
		if strings.Contains(printed, "hidden-") {
			t.Errorf("the secret is printed in %s", printed)
		}
	}
}

// TestTypeWordsAreTheTypes holds the words of the tag to those that messages
// name.
func TestTypeWordsAreTheTypes(t *testing.T) {
	t.Parallel()
	f, _ := reflect.TypeFor[Server]().FieldByName("Type")
	want := append([]string{string(Generic)}, withAPI()...)
	if diff := cmp.Diff(want, strings.Split(f.Tag.Get("enum"), ",")); diff != "" {
		t.Error(diff)
	}
}

// TestWrittenOutDefaultsAreNoDifference has a server twice, once with the
// defaults of its type written out.
func TestWrittenOutDefaultsAreNoDifference(t *testing.T) {
	t.Parallel()
	text := change(t, `{"url": "http://192.0.2.1"}`, `{"url": "http://192.0.2.1", "type": "nimble"}`)
	text = strings.Replace(text, `"farms": [{`, `"farms": [{"name": "b", "servers": [
		{"url": "http://192.0.2.1", "type": "nimble", "api_url": "http://192.0.2.1:8082/", "containers": "separate"},
		{"url": "http://192.0.2.9"}]}, {`, 1)
	if d, findings := parse(text, nil); d == nil {
		t.Error(texts(findings))
	}
}
