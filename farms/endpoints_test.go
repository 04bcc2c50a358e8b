package farms_test

import (
	"math/rand/v2"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

func TestEndpointsIsTheMap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 22))
	for _, n := range []int{0, 1, 2, 3, 4, 5, 100, 1000} {
		m := map[farms.Endpoint]int{}
		for len(m) < n {
			// Few low bits, so that places collide, and the zero endpoint too.
			m[farms.Endpoint(random.Uint64()&^0xfc)] = len(m) + 1
		}
		e := farms.NewEndpoints(m)
		for key, want := range m {
			if got := e.Get(key); got != want {
				t.Fatalf("%d entries: %x is %d, expected %d", n, key, got, want)
			}
		}
		for range 1000 {
			key := farms.Endpoint(random.Uint64())
			if got := e.Get(key); got != m[key] {
				t.Fatalf("%d entries: %x is %d, expected %d", n, key, got, m[key])
			}
		}
	}
}
