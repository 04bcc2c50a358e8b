package probe

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAnswersAreCounted: those to probes of content that say something about it,
// and among them those that only guard it.
func TestAnswersAreCounted(t *testing.T) {
	t.Parallel()
	bubble(t, "by_channel", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.URL.Path, "/guarded"):
				w.WriteHeader(http.StatusForbidden)
			case strings.HasPrefix(r.URL.Path, "/broken"):
				w.WriteHeader(http.StatusInternalServerError)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		s.start()
		for _, channel := range []string{"guarded1", "guarded2", "broken", "missing"} {
			s.ask(channel)
			s.after(time.Second)
		}
		if h := s.health(0); h.Answers != 3 || h.Guarded != 2 {
			t.Errorf("%d answers, %d of them guarded, want 3 and 2", h.Answers, h.Guarded)
		}
	})
}
