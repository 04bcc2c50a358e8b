package config

import (
	"fmt"
	"io"
	"strings"
)

// Secret is a value that is never printed: formatting and marshalling it give a
// placeholder.
type Secret string

const hiddenSecret = "(secret)"

// Reveal returns the value itself.
func (s Secret) Reveal() string { return string(s) }

// String returns a placeholder.
func (s Secret) String() string { return hiddenSecret }

// Format writes a placeholder, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hiddenSecret) }

// MarshalText returns a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hiddenSecret), nil }

const maxSecretBytes = 64 << 10

// bindSecret reads a string, or the content of the file that {"file": …} names.
// What is wrong is said without the value.
func (l *loader) bindSecret(n *node, to *Secret) {
	switch n.kind {
	case kindString:
		if len(n.text) > maxSecretBytes {
			l.errorf(n, "has %d bytes, expected at most %d", len(n.text), maxSecretBytes)
			return
		}
		*to = Secret(n.text)
	case kindObject:
		file := n.get("file")
		for c := n.first; c != nil; c = c.next {
			if c.key != "file" && !strings.HasPrefix(c.key, "_") {
				l.errorf(c, "unknown key; a secret is a string or {\"file\": \"PATH\"}")
			} else if c.key == "file" && c != file {
				l.duplicateKey(c, file)
			}
		}
		if file.kind != kindString {
			l.errorf(file, "%s, expected a string with the path of a file", file.describe())
			return
		}
		if text, ok := l.readSecretFile(file, file.text); ok {
			*to = Secret(text)
		}
	default:
		l.errorf(n, "is not a string, expected a string or {\"file\": \"PATH\"}")
	}
}

// readSecretFile reads a secret from a file; the line break that editors put at
// its end is not part of it.
func (l *loader) readSecretFile(n *node, name string) (string, bool) {
	data, ok := l.readFile(n, name, maxSecretBytes)
	if !ok {
		return "", false
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		l.errorf(n, "the file %s is empty, expected a secret in it", quotePath(l.resolve(name)))
		return "", false
	}
	return text, true
}
