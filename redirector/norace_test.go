//go:build !race

package redirector

const raceDetector = false
