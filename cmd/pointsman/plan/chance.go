package plan

// chance returns the random bits of one viewer in one replay. They are a function
// of both, so that a report does not depend on who computes what. Each failure
// draws anew: among those whom a draw sent to one server it would not be even any
// more.
func chance(viewer, replay int) uint64 {
	x := uint64(viewer)*0x9e3779b97f4a7c15 + uint64(replay)*0xd1342543de82ef95 + 0x706c616e
	for range 2 {
		x ^= x >> 30
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 27
		x *= 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}
