//go:build race

package steering

// raceDetector: under it sync.Pool forgets on purpose, so that allocations are not
// counted.
const raceDetector = true
