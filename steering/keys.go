package steering

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// maxKeyFile bounds a key file, in bytes.
const maxKeyFile = 64 << 10

// ParseKeys reads the text of a key file: one key a line, in base64url or base64
// (as `openssl rand -base64 32` writes) or in hexadecimal; "#" begins a comment,
// also behind a key. The first key signs. An error names the line and never the
// key, because it ends in a log.
func ParseKeys(text []byte) ([][]byte, error) {
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("more than %d bytes: this is not a key file", maxKeyFile)
	}
	var keys [][]byte
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		for j := range keys {
			if bytes.Equal(keys[j], key) {
				return nil, fmt.Errorf("line %d: the same key is there already", i+1)
			}
		}
		if len(keys) == MaxKeys {
			return nil, fmt.Errorf("line %d: more than %d keys", i+1, MaxKeys)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("no key in it: one a line is expected, in base64url or hexadecimal")
	}
	return keys, nil
}

func parseKey(line string) ([]byte, error) {
	// Hexadecimal digits are base64 too. Random base64 of this length that looks
	// like hexadecimal is not met.
	key, err := hex.DecodeString(line)
	if err != nil {
		plain := strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(line, "="))
		if key, err = base64.RawURLEncoding.DecodeString(plain); err != nil {
			return nil, errors.New("neither base64url nor hexadecimal") // the decoder's error quotes the key
		}
	}
	if len(key) < MinKey || len(key) > MaxKey {
		return nil, fmt.Errorf("a key of %d bytes, %d to %d are expected", len(key), MinKey, MaxKey)
	}
	return key, nil
}

// FormatKeys writes keys so that [ParseKeys] reads them.
func FormatKeys(keys [][]byte) []byte {
	out := []byte("# Keys that sign steering sessions. The first signs, all verify. Keep them secret.\n" +
		"# To rotate: add a new key as the last line everywhere, then move it to the top, and remove the old one a day later.\n")
	for _, key := range keys {
		out = append(base64.RawURLEncoding.AppendEncode(out, key), '\n')
	}
	return out
}
