//go:build !race

package steering

const raceDetector = false
