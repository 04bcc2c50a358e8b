//go:build race

package redirector

// raceDetector: its runtime, of Go 1.26, breaks down ("ThreadSanitizer: CHECK
// failed") now and then in a process with over seven hundred synctest bubbles, so
// that under it one world in ten is played; `make unit` plays all without it.
const raceDetector = true
