// Package gzipped compresses bodies for those who take gzip (RFC 9110 §12.5.3):
// manifests for players, pages and documents for the operator.
package gzipped

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"
	"sync"
)

// from is how many bytes of body are worth compressing.
const from = 1024

var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Body returns body compressed, and true, when the Accept-Encoding headers take
// gzip and it is worth it; else body as it is.
func Body(accept []string, body []byte) ([]byte, bool) {
	if len(body) < from || !accepted(accept) {
		return body, false
	}
	var b bytes.Buffer
	z := writers.Get().(*gzip.Writer)
	z.Reset(&b)
	_, _ = z.Write(body) // memory takes everything
	_ = z.Close()
	writers.Put(z)
	return b.Bytes(), true
}

func accepted(accept []string) bool {
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(part, ";")
			coding = strings.TrimSpace(coding)
			if !strings.EqualFold(coding, "gzip") && !strings.EqualFold(coding, "x-gzip") {
				continue
			}
			name, q, _ := strings.Cut(strings.TrimSpace(params), "=")
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || weight > 0
		}
	}
	return false
}
