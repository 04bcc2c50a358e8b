package api

import (
	"strings"
	"testing"
)

// The example of RFC 7616 §3.9.1.
func TestDigestOfTheRFC(t *testing.T) {
	t.Parallel()
	const headers = `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=%s, ` +
		`nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	for algorithm, want := range map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		list := readChallenges([]string{strings.Replace(headers, "%s", algorithm, 1)})
		if len(list) != 1 {
			t.Fatalf("%d challenges, expected one", len(list))
		}
		got := digestHeader(list[0], "Mufasa", "Circle of Life", "/dir/index.html", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", 1)
		for _, part := range []string{`response="` + want + `"`, "nc=00000001", "qop=auth,", "algorithm=" + algorithm, `opaque="FQhe/`, `uri="/dir/index.html"`} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s is not in %s", algorithm, part, got)
			}
		}
	}
}

// The example of RFC 2617 §3.5 without qop, computed by RFC 2069's rule.
func TestDigestWithoutQOP(t *testing.T) {
	t.Parallel()
	list := readChallenges([]string{`Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"`})
	got := digestHeader(list[0], "Mufasa", "Circle Of Life", "/dir/index.html", "x", 1)
	if !strings.Contains(got, `response="670fd8c2df070c60b045671b8b24ff02"`) || strings.Contains(got, "qop") {
		t.Errorf("the header is %s", got)
	}
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		headers []string
		want    string // what the credentials begin with, empty when it cannot be answered
	}{
		{"basic", []string{`Basic realm="x"`}, "Basic "},
		{"digest_wins", []string{`Basic realm="x", Digest realm="y", nonce="n", qop="auth"`}, "Digest "},
		{"digest_in_a_header_of_its_own", []string{`Basic realm="x"`, `digest realm="y", nonce="n"`}, "Digest "},
		{"second_digest", []string{`Digest realm="y", nonce="n", algorithm=SHA-512-256, qop="auth", Digest realm="y", nonce="n", algorithm=SHA-256, qop="auth"`}, "Digest "},
		{"session", []string{`Digest realm="y", nonce="n", algorithm=MD5-sess, qop=auth`}, "Digest "},
		{"integrity_only", []string{`Digest realm="y", nonce="n", qop="auth-int"`}, ""},
		{"negotiate", []string{"Negotiate abc=="}, ""},
		{"nothing", nil, ""},
		{"open_quote", []string{`Digest realm="y`}, "Digest "},
		{"only_commas", []string{", , ,"}, ""},
		{"escape_at_the_end", []string{`Digest realm="y\`}, "Digest "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := credentials{user: "a\"b\r\n", secret: "secret"}
			if ok := c.take(tt.headers); ok != (tt.want != "") {
				t.Fatalf("it can be answered: %v", ok)
			}
			got := c.header("http://edge:8087/v2/servers?x=1")
			if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" || strings.ContainsAny(got, "\r\n") {
				t.Errorf("the header is %q, expected %q…", got, tt.want)
			}
		})
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Basic realm="x", Digest realm="y\"", nonce=n, qop="auth,auth-int"`)
	f.Add(`Digest =,=,"`)
	f.Fuzz(func(t *testing.T, header string) {
		c := credentials{user: "admin", secret: "secret"}
		c.take([]string{header, header})
		if got := c.header("http://edge:8087/v2"); strings.ContainsAny(got, "\r\n\x00") || strings.HasPrefix(got, "Digest") && strings.Contains(got, "secret") && !strings.Contains(header, "secret") {
			t.Errorf("the header is %q", got)
		}
	})
}
