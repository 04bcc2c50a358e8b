package playlist

import (
	"bytes"
	"fmt"
	"strings"
)

// wasMark begins the comment that keeps an address as it was written, where the moved one does not tell.
const wasMark = "#POINTSMAN-WAS:"

// maxReserved bounds what is reserved for a decorated playlist before it is known to be one.
const maxReserved = 64 << 10

// DecorateHLS gives a multivariant playlist what steering needs (draft-pantos-hls-rfc8216bis §4.4.6.6): the
// EXT-X-CONTENT-STEERING tag, and every variant, I-frame variant and rendition once per pathway with an absolute URI.
//
// It is lossless: the input's lines stay in their order and, but for the edits below, byte for byte, with their line
// ends, a BOM, comments and tags that nobody knows. What is added can be told from what was there:
//
//   - the EXT-X-CONTENT-STEERING line, after #EXTM3U;
//   - the lines of the other pathways, each directly after the line of the first one: an EXT-X-STREAM-INF with its URI
//     line, an EXT-X-I-FRAME-STREAM-INF, an EXT-X-MEDIA;
//   - at the front of the attributes of a variant PATHWAY-ID, and before it, where the input has none, a
//     STABLE-VARIANT-ID; at the front of those of a rendition with a URI, where the input has none, a
//     STABLE-RENDITION-ID. Ids made here begin with "pointsman." and are the same on all pathways;
//   - "@" and the pathway's id behind every group's name. No id has an "@", so that no two groups become one;
//   - the folder of the pathway before each relative URI. A URI of another form (rooted, absolute, with dot segments) is
//     kept in a comment line before its tag, #POINTSMAN-WAS:, since the moved one does not tell what it was.
//
// A rendition without a URI (closed captions, sound inside the variant) and a group that no variant refers to are
// repeated like all others, because a group may belong to one pathway only. Redundant streams, the same variant twice
// with two URIs, are kept as two variants of each pathway. Media3 refuses two URIs for one variant of a pathway; the ids
// made here keep them apart, so that it takes them for two variants. The same holds for groups of the same names at
// different bit rates. Where the input has ids of its own they stay, even if Media3 minds.
//
// Relative URIs of EXT-X-SESSION-DATA, EXT-X-SESSION-KEY and EXT-X-IMAGE-STREAM-INF, which have no pathway, go to the
// first one: the player did not get the playlist from where they are.
//
// Variables of EXT-X-DEFINE stay. A URI that begins with one is moved when its VALUE, in the same playlist, says what it
// is relative to; with QUERYPARAM only the player knows, and the URI stays as it is on every pathway.
//
// Errors wrap [ErrNotMultivariant], [ErrMalformed], [ErrSteered], [ErrElsewhere] or [ErrTooLarge]; any other one is about
// the decoration itself.
func DecorateHLS(in []byte, d *Decoration) ([]byte, error) {
	places, err := d.places()
	if err != nil {
		return nil, fmt.Errorf("decorating a playlist: %w", err)
	}
	text, _ := stripBOM(in)
	h := hlsDecorator{
		body: text, lines: newLineScanner(text), decoration: d, places: places, variables: variables{},
		variantIDs: newStableIDs(), renditionIDs: newStableIDs(),
		out: append(make([]byte, 0, min(len(in)*(len(places)+1), maxReserved)), in[:len(in)-len(text)]...),
	}
	if err := h.decorate(); err != nil {
		return nil, fmt.Errorf("decorating a playlist: %w", err)
	}
	return h.out, nil
}

// hlsDecorator is a playlist being decorated.
type hlsDecorator struct {
	body       []byte
	lines      *lineScanner
	decoration *Decoration
	places     []place
	variables  variables
	eol        string // of the first line

	out      []byte
	copied   int  // bytes of body that are in out
	addedEnd bool // out ends with lines of other pathways

	variant      *hlsTag // waits for its URI line
	variants     int
	anyHere      bool // at least one variant is moved
	variantIDs   stableIDs
	renditionIDs stableIDs
}

// rawLine is a line with its place in the body.
type rawLine struct {
	text       []byte // without its end and blanks around it
	start, end int    // with blanks and its end
	from, to   int    // of text
}

func (h *hlsDecorator) next() (line rawLine, ok bool, err error) {
	line.start = h.lines.at
	line.text, ok, err = h.lines.next()
	if !ok || err != nil {
		return rawLine{}, false, err
	}
	line.end = min(h.lines.at, len(h.body))
	raw := h.body[line.start:line.end]
	line.from = line.start
	if len(line.text) > 0 {
		line.from += len(raw) - len(bytes.TrimLeft(raw, " \t"))
	}
	line.to = line.from + len(line.text)
	return line, true, nil
}

func (h *hlsDecorator) decorate() error {
	if err := readHeader(h.lines); err != nil {
		return malformed(err)
	}
	header := h.body[:min(h.lines.at, len(h.body))]
	h.eol = string(lineEnd(header))
	h.keep(len(header))
	h.add("#EXT-X-CONTENT-STEERING:SERVER-URI=\"", h.decoration.ServerURI, "\",PATHWAY-ID=\"", h.places[0].id, "\"", h.eol)
	for {
		line, ok, err := h.next()
		if err != nil {
			return malformed(err)
		}
		if !ok {
			break
		}
		if err := h.line(line); err != nil {
			return err
		}
		if len(h.out) > maxDecorated {
			return tooLarge()
		}
	}
	return h.finish()
}

func (h *hlsDecorator) finish() error {
	switch {
	case h.variant != nil:
		return h.noURI()
	case h.variants == 0:
		return fmt.Errorf("%w: there is no EXT-X-STREAM-INF", ErrNotMultivariant)
	case !h.anyHere:
		return fmt.Errorf("%w: none of the %d variants has a URI that is relative or on the host of %s",
			ErrElsewhere, h.variants, quote(h.decoration.Source))
	}
	h.keep(len(h.body))
	if h.addedEnd && len(lineEnd(h.body)) == 0 { // the last line has no end, as before
		h.out = h.out[:len(h.out)-len(h.eol)]
	}
	if len(h.out) > maxDecorated {
		return tooLarge()
	}
	return nil
}

// lineEnd returns what the text ends its last line with.
func lineEnd(text []byte) []byte { return text[len(bytes.TrimRight(text, "\r\n")):] }

// keep writes the body up to there as it is.
func (h *hlsDecorator) keep(to int) {
	if h.copied < to {
		h.out, h.addedEnd = append(h.out, h.body[h.copied:to]...), false
		h.copied = to
	}
}

func (h *hlsDecorator) add(texts ...string) {
	for _, text := range texts {
		h.out = append(h.out, text...)
	}
}

func (h *hlsDecorator) fail(format string, args ...any) error {
	return malformed(lineError(h.lines.number, format, args...))
}

func (h *hlsDecorator) noURI() error {
	return malformed(lineError(h.variant.number, "EXT-X-STREAM-INF has no URI line, expected one before the next tag"))
}

func (h *hlsDecorator) line(line rawLine) error {
	switch {
	case len(line.text) == 0:
		return nil
	case line.text[0] != '#':
		if h.variant == nil {
			return nil // no player knows what it is
		}
		return h.variantURI(line)
	case bytes.HasPrefix(line.text, []byte(wasMark)):
		return fmt.Errorf("%w: line %d is a comment that decorating leaves", ErrSteered, h.lines.number)
	case !bytes.HasPrefix(line.text, []byte("#EXT")):
		return nil
	}
	name, value := splitTag(line.text)
	switch string(name) {
	case "#EXT-X-CONTENT-STEERING":
		return fmt.Errorf("%w: line %d is EXT-X-CONTENT-STEERING", ErrSteered, h.lines.number)
	case "#EXT-X-DEFINE":
		h.variables.define(value)
		return nil
	case "#EXTINF", "#EXT-X-TARGETDURATION":
		if h.variants == 0 && h.variant == nil {
			return fmt.Errorf("%w: line %d is %s of a media playlist", ErrNotMultivariant, h.lines.number, name[1:])
		}
		return h.fail("%s stands among variants, expected a media or a multivariant playlist", name[1:])
	case "#EXT-X-STREAM-INF", "#EXT-X-I-FRAME-STREAM-INF", "#EXT-X-MEDIA":
	case "#EXT-X-SESSION-DATA", "#EXT-X-SESSION-KEY", "#EXT-X-IMAGE-STREAM-INF":
	default:
		return nil
	}
	if h.variant != nil {
		return h.noURI()
	}
	tag, err := readHLSTag(line, h.lines.number)
	if err != nil {
		return malformed(err)
	}
	switch string(name) {
	case "#EXT-X-STREAM-INF":
		h.variant = tag
		return h.checkVariant(tag)
	case "#EXT-X-I-FRAME-STREAM-INF":
		return h.iframeVariant(tag)
	case "#EXT-X-MEDIA":
		return h.rendition(tag)
	default:
		return h.session(tag)
	}
}

func (h *hlsDecorator) checkVariant(tag *hlsTag) error {
	if tag.has("PATHWAY-ID") {
		return fmt.Errorf("%w: line %d has a PATHWAY-ID", ErrSteered, tag.number)
	}
	return h.checkStable(tag, "STABLE-VARIANT-ID")
}

func (h *hlsDecorator) checkStable(tag *hlsTag, name string) error {
	if strings.HasPrefix(tag.value(name), madePrefix) {
		return fmt.Errorf("%w: line %d has a %s that decorating made", ErrSteered, tag.number, name)
	}
	return nil
}

// variantURI writes the EXT-X-STREAM-INF that waits, and its URI line, for every pathway.
func (h *hlsDecorator) variantURI(line rawLine) error {
	tag := h.variant
	h.variant = nil
	h.variants++
	moved, err := h.everywhere(string(line.text))
	if err != nil {
		return err
	}
	h.anyHere = h.anyHere || moved.here
	stable := h.variantStable(tag, "v", string(line.text))
	h.was(tag, moved)
	h.keep(tag.line.from)
	h.out = tag.appendTo(h.out, stable+pathwayAttribute(h.places[0].id), h.places[0].id, "")
	h.copied = tag.line.to
	h.keep(line.from)
	h.add(moved.addresses[0])
	h.copied = line.to
	eol := h.original(line)
	for i := 1; i < len(h.places); i++ {
		id := h.places[i].id
		h.out = tag.appendTo(h.out, stable+pathwayAttribute(id), id, "")
		h.add(eol, moved.addresses[i], eol)
		h.addedEnd = true
	}
	return nil
}

func (h *hlsDecorator) variantStable(tag *hlsTag, kind, uri string) string {
	if tag.has("STABLE-VARIANT-ID") {
		return ""
	}
	return `STABLE-VARIANT-ID="` + h.variantIDs.of(uri, kind, tag.value("RESOLUTION"), tag.value("BANDWIDTH")) + `",`
}

func (h *hlsDecorator) iframeVariant(tag *hlsTag) error {
	if err := h.checkVariant(tag); err != nil {
		return err
	}
	uri := tag.value("URI")
	if uri == "" {
		return h.fail("EXT-X-I-FRAME-STREAM-INF has no URI, expected one")
	}
	return h.repeat(tag, uri, h.variantStable(tag, "i", uri), true)
}

func (h *hlsDecorator) rendition(tag *hlsTag) error {
	switch {
	case tag.has("PATHWAY-ID"):
		return fmt.Errorf("%w: line %d has a PATHWAY-ID", ErrSteered, tag.number)
	case tag.value("GROUP-ID") == "":
		return h.fail("EXT-X-MEDIA has no GROUP-ID, expected one")
	}
	if err := h.checkStable(tag, "STABLE-RENDITION-ID"); err != nil {
		return err
	}
	uri, stable := tag.value("URI"), ""
	if uri != "" && !tag.has("STABLE-RENDITION-ID") { // it is the id of a URI
		id := h.renditionIDs.of(uri, strings.ToLower(tag.value("TYPE")), tag.value("GROUP-ID"), tag.value("LANGUAGE"), tag.value("NAME"))
		stable = `STABLE-RENDITION-ID="` + id + `",`
	}
	return h.repeat(tag, uri, stable, false)
}

// repeat writes a tag that holds its URI itself, if it has one, for every pathway.
func (h *hlsDecorator) repeat(tag *hlsTag, uri, stable string, isVariant bool) error {
	moved := movedAddress{addresses: make([]string, len(h.places))}
	if uri != "" {
		var err error
		if moved, err = h.everywhere(uri); err != nil {
			return err
		}
		h.was(tag, moved)
	}
	eol := ""
	h.keep(tag.line.from)
	for i := range h.places {
		id, front := h.places[i].id, stable
		if isVariant {
			front += pathwayAttribute(id)
		}
		h.out = tag.appendTo(h.out, front, id, moved.addresses[i])
		if i == 0 {
			h.copied = tag.line.to
			eol = h.original(tag.line)
			continue
		}
		h.add(eol)
		h.addedEnd = true
	}
	return nil
}

// original writes the rest of the input's own line and returns how the lines of other pathways after it end: like it, so
// that no CR of theirs meets an LF of the input, or like the first line where it has no end.
func (h *hlsDecorator) original(line rawLine) (eol string) {
	h.keep(line.end)
	if eol = string(lineEnd(h.body[line.start:line.end])); eol == "" && len(h.places) > 1 {
		eol = h.eol
		h.add(eol)
	}
	return eol
}

func pathwayAttribute(id string) string { return `PATHWAY-ID="` + id + `",` }
