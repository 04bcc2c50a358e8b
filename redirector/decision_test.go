package redirector

import (
	"net/http"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

// TestEveryReasonIsAnswered fails when a reason is appended without its status,
// its Retry-After or its words.
func TestEveryReasonIsAnswered(t *testing.T) {
	t.Parallel()
	wordless := map[farms.Reason]bool{ // these have none, or get them from who refuses
		farms.ReasonOK: true, farms.ReasonPreflight: true, farms.ReasonBadRequest: true, farms.ReasonURITooLong: true,
	}
	all := farms.Reasons()
	for what, n := range map[string]int{"statuses": len(statusOf), "values of Retry-After": len(retryOf), "details": len(details)} {
		if n != len(all) {
			t.Fatalf("%d %s for %d reasons: append to statusOf, retryOf and details", n, what, len(all))
		}
	}
	for _, r := range all {
		status := statusOf[r]
		if http.StatusText(status) == "" {
			t.Errorf("%v: status %d is none", r, status)
		}
		if waits := status == http.StatusServiceUnavailable; (retryOf[r] > 0) != waits {
			t.Errorf("%v: status %d with Retry-After %d; waiting helps with 503 and with nothing else", r, status, retryOf[r])
		}
		if (details[r] == "") != wordless[r] {
			t.Errorf("%v: detail %q", r, details[r])
		}
		var d Decision
		d.refuse(r, "")
		if d.Reason != r || d.Status != status || d.RetryAfter != retryOf[r] || d.Detail != details[r] {
			t.Errorf("%v: refused as %+v", r, d)
		}
		d.refuse(r, "more exact")
		if d.Detail != "more exact" {
			t.Errorf("%v: detail %q, want the more exact one", r, d.Detail)
		}
	}
}

// TestReasonStatus: these are an interface for players and balancers.
func TestReasonStatus(t *testing.T) {
	t.Parallel()
	for reason, want := range map[farms.Reason][2]int{
		farms.ReasonOK: {302, 0}, farms.ReasonBadRequest: {400, 0}, farms.ReasonURITooLong: {414, 0}, farms.ReasonMethodNotAllowed: {405, 0},
		farms.ReasonUnknownHost: {421, 0}, farms.ReasonUnknownPath: {404, 0}, farms.ReasonNoLocation: {403, 0},
		farms.ReasonFarmDown: {503, 5}, farms.ReasonBusy: {503, 2}, farms.ReasonOffAir: {503, 3}, farms.ReasonContentMissing: {404, 0},
		farms.ReasonPreflight: {204, 0},
	} {
		if statusOf[reason] != want[0] || retryOf[reason] != want[1] {
			t.Errorf("%v: %d, Retry-After %d; want %v", reason, statusOf[reason], retryOf[reason], want)
		}
	}
}

func TestDoorsHaveNames(t *testing.T) {
	t.Parallel()
	for d, want := range map[Door]string{DoorHTTP: "http", DoorExplain: "explain"} {
		if d.String() != want {
			t.Errorf("door %d is %q, want %q", d, d, want)
		}
	}
}

func TestHostName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "tv.example": "tv.example", "TV.Example.": "tv.example", "tv.example:8080": "tv.example", "tv.example.:80": "tv.example",
		"192.0.2.1:80": "192.0.2.1", "[::1]": "::1", "[::1]:80": "::1", "[2001:DB8::1]:80": "2001:db8::1", "::1": "::1", "::1:80": "::1:80",
		":80": ":80", "[": "[", "[]": "", "]:80": "]", "a:b:c": "a:b:c",
	} {
		if got := hostName(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestStripPrefix(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		path, plain, prefix string
		wantPath, wantPlain string
		ok                  bool
	}{
		{"/a/b", "/a/b", "", "/a/b", "/a/b", true},
		{"/hls/a%20b/x", "/hls/a b/x", "/hls", "/a%20b/x", "/a b/x", true},
		{"/hls/", "/hls/", "/hls", "/", "/", true},
		{"/hls", "/hls", "/hls", "", "", false},
		{"/hlsx/a", "/hlsx/a", "/hls", "", "", false},
		{"/HLS/a", "/HLS/a", "/hls", "", "", false},
		{"/%68ls/a", "/hls/a", "/hls", "", "", false}, // it would have to be taken off both spellings
		{"/hls%2Fa/b", "/hls/a/b", "/hls", "", "", false},
		{"/hls//a", "/hls//a", "/hls", "//a", "//a", true},
	} {
		path, plain, ok := stripPrefix(row.path, row.plain, row.prefix)
		if path != row.wantPath || plain != row.wantPlain || ok != row.ok {
			t.Errorf("%q without %q: %q %q %v, want %q %q %v", row.path, row.prefix, path, plain, ok, row.wantPath, row.wantPlain, row.ok)
		}
	}
}
