package playlist

import (
	"bytes"
	"slices"
)

// hlsTag is a line of a tag with attributes, and where the values stand that decorating looks at.
type hlsTag struct {
	line   rawLine
	number int // of the line, from 1
	list   int // where the attributes begin in line.text
	values []hlsValue
}

// hlsValue is where a value stands in its line, without its quotes.
type hlsValue struct {
	name     string
	from, to int
	quoted   bool
}

// readNames are the attributes that decorating looks at.
var readNames = [...]string{
	"URI", "GROUP-ID", "AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS", "PATHWAY-ID", "STABLE-VARIANT-ID",
	"STABLE-RENDITION-ID", "RESOLUTION", "BANDWIDTH", "TYPE", "LANGUAGE", "NAME",
}

// readName returns the name of an attribute that decorating looks at, or nothing.
func readName(name []byte) string {
	for _, read := range readNames {
		if string(name) == read {
			return read
		}
	}
	return ""
}

// readHLSTag reads a tag so strictly that every player reads the same: to edit what two players read differently would
// be to change what one of them sees.
func readHLSTag(line rawLine, number int) (*hlsTag, error) {
	colon := bytes.IndexByte(line.text, ':')
	if colon < 0 || len(trimBlanks(line.text[colon+1:])) == 0 {
		return nil, lineError(number, "%s has no attributes", quote(string(line.text)))
	}
	tag := &hlsTag{line: line, number: number, list: colon + 1, values: make([]hlsValue, 0, 8)}
	for list := attributes(line.text[tag.list:]); ; {
		from := len(line.text) - len(list)
		name, value, ok := list.next()
		if !ok {
			return tag, nil
		}
		spelled := line.text[from : len(line.text)-len(list)] // with the comma after it
		place, quoted, ok := placeOf(value, spelled)
		if !ok {
			return nil, lineError(number, "attribute is %s, expected NAME=value or NAME=\"value\" before a comma", quote(string(spelled)))
		}
		found := hlsValue{readName(name), from + place, from + place + len(value), quoted}
		switch {
		case found.name == "":
			continue
		case tag.find(found.name) != nil:
			return nil, lineError(number, "%s is there twice", found.name)
		case found.name == "URI" && !quoted:
			return nil, lineError(number, "URI is %s, expected quotes around it", quote(string(value)))
		}
		tag.values = append(tag.values, found)
	}
}

// placeOf returns where in the spelling of an attribute its value stands; not ok when quotes are not where they belong.
func placeOf(value, spelled []byte) (place int, quoted, ok bool) {
	const blanks = " \t"
	equals := bytes.IndexByte(spelled, '=')
	if equals < 0 {
		return 0, false, bytes.IndexByte(spelled, '"') < 0
	}
	if bytes.IndexByte(spelled[:equals], '"') >= 0 {
		return 0, false, false
	}
	place = equals + 1
	place += len(spelled[place:]) - len(bytes.TrimLeft(spelled[place:], blanks))
	if place == len(spelled) || spelled[place] != '"' {
		return place, false, bytes.IndexByte(spelled, '"') < 0
	}
	place++
	rest, closed := bytes.CutPrefix(spelled[place+len(value):], []byte{'"'})
	rest = bytes.Trim(rest, blanks)
	return place, true, closed && (len(rest) == 0 || string(rest) == ",")
}

func (t *hlsTag) find(name string) *hlsValue {
	if i := slices.IndexFunc(t.values, func(v hlsValue) bool { return v.name == name }); i >= 0 {
		return &t.values[i]
	}
	return nil
}

func (t *hlsTag) has(name string) bool { return t.find(name) != nil }

func (t *hlsTag) value(name string) string {
	if v := t.find(name); v != nil {
		return string(t.line.text[v.from:v.to])
	}
	return ""
}

// appendTo appends the tag as it is on one pathway to out: front before its attributes, the pathway behind the names of
// groups, and the URI, unless that is empty, as moved.
func (t *hlsTag) appendTo(out []byte, front, pathway, uri string) []byte {
	out = append(out, t.line.text[:t.list]...)
	out = append(out, front...)
	at := t.list
	for i := range t.values {
		v := &t.values[i]
		if v.from == v.to {
			continue
		}
		switch {
		case v.name == "URI" && uri != "":
			out = append(append(out, t.line.text[at:v.from]...), uri...)
			at = v.to
		case v.namesGroup() && pathway != "" && (v.quoted || string(t.line.text[v.from:v.to]) != "NONE"):
			out = append(append(append(out, t.line.text[at:v.to]...), groupMark), pathway...)
			at = v.to
		}
	}
	return append(out, t.line.text[at:]...)
}

// groupMark stands between a group's name and its pathway. No id of a pathway has one, so the last one in a name tells
// them apart, and two groups of the input never become one.
const groupMark = '@'

func (v *hlsValue) namesGroup() bool {
	switch v.name {
	case "GROUP-ID", "AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS":
		return true
	default:
		return false
	}
}
