package archive

import (
	"fmt"
	"sync"
	"testing"
)

// TestMemoChangesNothing: a URL read again is what it was the first time, from
// many goroutines.
func TestMemoChangesNothing(t *testing.T) {
	t.Parallel()
	warm := newParser(t)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			fresh := newParser(t)
			for i := range memoSize / 2 {
				path := fmt.Sprintf("/ch%d/index.m3u8", (i*7+g)%300)
				for _, query := range []string{"", "token=a", "lhs_start=1&lhs_offset_unix_s_0=60", "utc=1767218400&lutc=1767225600"} {
					fresh.live = new(memo)
					want, wantVerdict := fresh.Parse(path, query, testNow, nil)
					got, verdict := warm.Parse(path, query, testNow, nil)
					if asExample(got, verdict) != asExample(want, wantVerdict) {
						t.Errorf("%s?%s is %s, expected %s", path, query, asExample(got, verdict), asExample(want, wantVerdict))
						return
					}
				}
			}
		})
	}
	all.Wait()
}
