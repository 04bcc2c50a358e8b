package gzipped

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

func TestBody(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("pointsman "), from/10+1)
	for _, tc := range []struct {
		accept string
		body   []byte
		want   bool
	}{
		{"gzip", long, true},
		{"br, GZIP;q=0.5", long, true},
		{"deflate,x-gzip", long, true},
		{"gzip; q=0", long, false},
		{"gzip;q=0.000", long, false},
		{"identity", long, false},
		{"", long, false},
		{"gzipped", long, false},
		{"gzip", long[:from-1], false},
	} {
		out, ok := Body([]string{tc.accept}, tc.body)
		if ok != tc.want {
			t.Errorf("%q, %d bytes: compressed %t, expected %t", tc.accept, len(tc.body), ok, tc.want)
		}
		if ok {
			z, err := gzip.NewReader(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			if out, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(out, tc.body) {
			t.Errorf("%q: the body is another", tc.accept)
		}
	}
}
