package config

import "strings"

// closest returns the key that was probably meant by an unknown one, or "".
func closest(unknown string, keys []string) string {
	if len(unknown) > maxQuotedBytes {
		return ""
	}
	separators := strings.NewReplacer("-", "", "_", "")
	plain := func(s string) string { return separators.Replace(strings.ToLower(s)) }
	best, bestDistance := "", 3 // two slips at most
	for _, k := range keys {
		if plain(k) == plain(unknown) {
			return k
		}
		if len(k) > len(unknown)+2 || len(unknown) > len(k)+2 {
			continue
		}
		// In a short word two slips make another word.
		if d := distance(unknown, k); d < bestDistance && d*3 <= len(k) {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance counts the bytes to insert, delete, replace or swap to make b of a.
func distance(a, b string) int {
	before, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := row[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(row[j]+1, next[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
