package fake

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// cutLast splits "/a/b/file" into "a/b" and "file".
func cutLast(path string) (dir, file string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || i == len(path)-1 {
		return "", "", false
	}
	return path[1:i], path[i+1:], true
}

// serveSegment answers for a segment of the fakes' playlists.
func serveSegment(w http.ResponseWriter, file string) {
	if !strings.HasSuffix(file, ".ts") && !strings.HasSuffix(file, ".m4s") {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	writeTS(w)
}

// parseUnix reads unix seconds.
func parseUnix(s string) (time.Time, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0).UTC(), err == nil && n > 0
}
