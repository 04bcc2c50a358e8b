package steering

// MaxPathwayID is the most bytes a pathway's id may have.
const MaxPathwayID = 64

func isPathwayByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// isReadableID tells whether a reported id can be looked up. "." is one: players
// report it, though nobody is called so.
func isReadableID(id string) bool {
	if id == "" || len(id) > MaxPathwayID {
		return false
	}
	for i := range len(id) {
		if !isPathwayByte(id[i]) {
			return false
		}
	}
	return true
}
