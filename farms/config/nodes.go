package config

import "strconv"

// kind is the JSON type of a node.
type kind uint8

const (
	kindAbsent kind = iota // the key is not in the document
	kindNull
	kindBoolean
	kindNumber
	kindString
	kindArray
	kindObject
)

// noPlace is the offset of a finding that is about no place in the text.
const noPlace = -1

// node is one JSON value and its place in the document. The entries of an array
// or object are a linked list, so that a list of 100,000 prefixes costs its
// nodes and nothing else.
type node struct {
	kind   kind
	failed bool  // an error was reported here: the value is not to be judged further
	index  int32 // position in an array
	count  int32 // entries of an array or object
	offset int32 // of the key, for a member of an object, else of the value
	key    string
	text   string // a string's value, a number's or boolean's literal

	parent, next *node
	first, last  *node
}

// add appends an entry.
func (n *node) add(child *node) {
	child.parent = n
	child.index = n.count
	if n.last == nil {
		n.first = child
	} else {
		n.last.next = child
	}
	n.last = child
	n.count++
}

// get returns the member with this key. Where there is none, it returns an
// absent node that knows its path, so that what is missing can be named.
func (n *node) get(key string) *node {
	if n.kind == kindObject {
		for c := n.first; c != nil; c = c.next {
			if c.key == key {
				return c
			}
		}
	}
	// Absent under an object all the same: its path takes the key.
	return &node{key: key, offset: n.offset, parent: &node{kind: kindObject, parent: n.parent, key: n.key, index: n.index, offset: n.offset}}
}

// item returns the i-th entry of an array, or the node itself where a lone
// value stands for an array of one.
func (n *node) item(i int) *node {
	if n.kind != kindArray {
		return n
	}
	c := n.first
	for ; i > 0 && c != nil; i-- {
		c = c.next
	}
	if c == nil {
		return n
	}
	return c
}

// items returns the entries in a slice.
func (n *node) items() []*node {
	if n.kind != kindArray && n.kind != kindObject {
		return nil
	}
	out := make([]*node, 0, n.count)
	for c := n.first; c != nil; c = c.next {
		out = append(out, c)
	}
	return out
}

// present tells whether the value is there and was read without an error.
func (n *node) present() bool { return n.kind != kindAbsent && !n.failed }

// path returns where the node stands, such as redirection.farms[1].name. The
// whole document's path is empty.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	prefix := n.parent.path()
	switch {
	case n.parent.kind == kindArray:
		return prefix + "[" + strconv.Itoa(int(n.index)) + "]"
	case !plainKey(n.key):
		return prefix + "[" + quote(n.key) + "]"
	case prefix == "":
		return n.key
	default:
		return prefix + "." + n.key
	}
}

// plainKey tells whether a key can stand in a path as it is.
func plainKey(key string) bool {
	if key == "" || len(key) > maxQuotedBytes {
		return false
	}
	for i := range len(key) {
		if !isLetterOrDigit(key[i]) && key[i] != '_' && key[i] != '-' {
			return false
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// describe says what a node is, for a message.
func (n *node) describe() string {
	switch n.kind {
	case kindNull:
		return "is null"
	case kindBoolean:
		return "is a boolean " + n.text
	case kindNumber:
		return "is a number " + clip(n.text, maxQuotedBytes)
	case kindString:
		return "is a string " + quote(n.text)
	case kindArray:
		return "is an array"
	case kindObject:
		return "is an object"
	default:
		return "is missing"
	}
}
