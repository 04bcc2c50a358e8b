package playlist

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	wasComment = "<!--pointsman-was " // begins the comment that keeps an MPD-level BaseURL
	maxIndent  = 256                  // bytes of white space that are repeated before what is added
	mpdLevel   = 2                    // depth of the MPD's children; the MPD itself is at 1
)

// DecorateMPD gives an MPD what steering needs (ETSI TS 103 998): one ContentSteering with one default service location,
// and an MPD-level BaseURL with a serviceLocation for each pathway.
//
// It is lossless: the input is edited at the offsets of its tags and never written anew. What is added can be told from
// what was there:
//
//   - BaseURL elements with a serviceLocation, and ContentSteering, each with a copy of the white space around the place
//     before it. They stand where the MPD-level BaseURLs are, or else before everything that the schema puts after them;
//   - an MPD-level BaseURL of the input becomes a comment, pointsman-was, with its hyphens and per cent signs escaped as
//     in a URL (a comment may not hold two hyphens). Its attributes (availabilityTimeOffset, dvb:weight) are on those that
//     stand for it. Relative ones, and absolute ones on the host of the source, are moved to each pathway; one on another
//     host is [ErrElsewhere], since the media come from there whatever a player is told.
//
// BaseURLs of Periods, AdaptationSets and Representations stay: relative ones follow the pathway; absolute ones do not,
// and what is below them is not steered. An address that ends without a slash stays so: it may be the media file itself.
//
// Location and PatchLocation stay as well. A relative one leads back to whoever served the decorated MPD. An absolute one
// leads a live player, at its first refresh, to the server itself, whose MPD is not decorated: steering ends there. It may
// carry the session that the server has begun, so it cannot be taken away; a packager behind a steered door should write
// none, or a relative one. Other addresses that do not follow BaseURL (UTCTiming, xlink) stay too.
//
// Errors wrap [ErrMalformed] (also for UTF-16, which is not edited), [ErrSteered], [ErrElsewhere] or [ErrTooLarge]; any
// other one is about the decoration itself.
func DecorateMPD(in []byte, d *Decoration) ([]byte, error) {
	places, err := d.places()
	if err != nil {
		return nil, fmt.Errorf("decorating an MPD: %w", err)
	}
	text, _ := stripBOM(in)
	out := append(make([]byte, 0, len(in)+len(in)/8+(len(places)+1)<<10), in[:len(in)-len(text)]...)
	m := mpdDecorator{text: text, decoration: d, places: places, out: out}
	if err := m.decorate(in); err != nil {
		return nil, fmt.Errorf("decorating an MPD: %w", err)
	}
	return m.out, nil
}

// mpdDecorator is an MPD being decorated.
type mpdDecorator struct {
	text       []byte
	decoration *Decoration
	places     []place

	root      xml.Name
	rootOpen  mpdTag
	lastInfo  int          // end of the last ProgramInformation before the first Period, or 0
	baseURLs  []mpdElement // MPD-level
	hasPeriod bool

	out    []byte
	copied int // bytes of text that are in out
}

// mpdTag is where a tag stands.
type mpdTag struct{ from, to int }

// mpdElement is where an element without children stands; closing is empty when it closes itself.
type mpdElement struct{ opening, closing mpdTag }

func (m *mpdDecorator) decorate(in []byte) error {
	if len(in) > maxDecorated {
		return tooLarge()
	}
	if utf16Order(in) != nil {
		return malformed(errors.New("the MPD is in UTF-16, expected UTF-8"))
	}
	if at := bytes.Index(m.text, []byte(wasComment)); at >= 0 {
		return fmt.Errorf("%w: line %d has a comment that decorating leaves", ErrSteered, 1+bytes.Count(m.text[:at], []byte{'\n'}))
	}
	if err := m.survey(newXMLReader(in)); err != nil {
		return err
	}
	if err := m.edit(); err != nil {
		return err
	}
	m.keep(len(m.text))
	if len(m.out) > maxDecorated {
		return tooLarge()
	}
	return nil
}

// survey finds what is edited, and reads on to the end to be sure that the document is well-formed.
func (m *mpdDecorator) survey(reader *xmlReader) error {
	var open *mpdElement // an MPD-level BaseURL
	inInfo := false
	for {
		token, err := reader.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return malformed(err)
		}
		tag := m.tagBefore(int(reader.decoder.InputOffset()))
		if start, isStart := token.(xml.StartElement); isStart {
			if open != nil {
				return malformed(lineError(reader.line(), "BaseURL has an element inside, expected an address"))
			}
			if err := m.start(reader.element(start), reader.depth, tag); err != nil {
				return err
			}
			switch {
			case reader.depth != mpdLevel || start.Name.Space != m.root.Space:
			case start.Name.Local == "BaseURL":
				open = &mpdElement{opening: tag}
			case start.Name.Local == "ProgramInformation":
				inInfo = !m.hasPeriod
			}
			continue
		}
		if reader.depth != mpdLevel-1 {
			continue
		}
		if open != nil {
			if tag != open.opening {
				open.closing = tag
			}
			m.baseURLs = append(m.baseURLs, *open)
		}
		if inInfo {
			m.lastInfo = tag.to
		}
		open, inInfo = nil, false
	}
	if !m.hasPeriod {
		return malformed(errors.New("the MPD has no Period"))
	}
	return nil
}

// tagBefore returns where the tag that ends at that offset stands. No tag of well-formed XML has another "<" in it.
func (m *mpdDecorator) tagBefore(end int) mpdTag {
	return mpdTag{bytes.LastIndexByte(m.text[:end], '<'), end}
}

// start reads the start tag of an element at that depth.
func (m *mpdDecorator) start(e element, depth int, tag mpdTag) error {
	switch {
	case depth == mpdLevel-1 && m.rootOpen.to > 0:
		return malformed(e.fail("there is a second root element %s", quote(e.Name.Local)))
	case depth == mpdLevel-1 && e.Name.Local != rootMPD:
		return malformed(e.fail("the root element is %s, expected %s", quote(e.Name.Local), rootMPD))
	case depth == mpdLevel-1:
		m.root, m.rootOpen = e.Name, tag
	case e.Name.Space != m.root.Space:
	case e.Name.Local == "ContentSteering":
		return fmt.Errorf("%w: line %d has a ContentSteering", ErrSteered, e.line)
	case e.Name.Local == "BaseURL":
		if _, named := e.text("serviceLocation"); named {
			return fmt.Errorf("%w: line %d has a BaseURL with a serviceLocation", ErrSteered, e.line)
		}
	case e.Name.Local == "Period" && depth == mpdLevel:
		m.hasPeriod = true
	}
	return nil
}

// edit writes the document up to the last place where something is added.
func (m *mpdDecorator) edit() error {
	prefix := m.prefix()
	if len(m.baseURLs) == 0 {
		at := max(m.rootOpen.to, m.lastInfo)
		m.keep(at)
		indent := m.text[at : at+len(m.text[at:])-len(bytes.TrimLeft(m.text[at:], xmlBlanks))]
		if len(indent) > maxIndent {
			indent = nil
		}
		for i := range m.places {
			p := &m.places[i]
			m.add(indent, "<", prefix, `BaseURL serviceLocation="`, p.id, `">`, escapeXML(p.folder), "</", prefix, "BaseURL>")
		}
		m.steering(indent, prefix)
		return nil
	}
	var indent []byte
	for _, base := range m.baseURLs {
		before := m.text[:base.opening.from]
		if indent = before[len(bytes.TrimRight(before, xmlBlanks)):]; len(indent) > maxIndent {
			indent = nil
		}
		if err := m.replace(base, indent); err != nil {
			return err
		}
	}
	m.steering(indent, prefix)
	return nil
}

const xmlBlanks = " \t\r\n"

// prefix returns the namespace prefix of the MPD's own elements with its colon, or nothing.
func (m *mpdDecorator) prefix() string {
	name := tagName(m.text[m.rootOpen.from:m.rootOpen.to])
	return name[:strings.IndexByte(name, ':')+1]
}

// tagName returns the name in a start tag as it is written, with its prefix.
func tagName(tag []byte) string {
	name := tag[1:]
	return string(name[:bytes.IndexAny(name, xmlBlanks+"/>")])
}

// replace makes a comment of an MPD-level BaseURL and writes one for each pathway after it.
func (m *mpdDecorator) replace(base mpdElement, indent []byte) error {
	opening := m.text[base.opening.from:base.opening.to]
	name, end, inner := tagName(opening), base.opening.to, []byte(nil)
	attributes := opening[1+len(name) : len(opening)-1]
	if base.closing.to > 0 {
		end, inner = base.closing.to, m.text[base.opening.to:base.closing.from]
	} else {
		attributes = opening[1+len(name) : len(opening)-len("/>")]
	}
	line := 1 + bytes.Count(m.text[:base.opening.from], []byte{'\n'})
	address, err := plainXML(inner)
	if err != nil {
		return malformed(lineError(line, "reading BaseURL: %w", err))
	}
	m.keep(base.opening.from)
	m.add(nil, wasComment, hideHyphens(string(m.text[base.opening.from:end])), "-->")
	m.copied = end
	for i := range m.places {
		p := &m.places[i]
		moved, here := p.folder, true // an empty one means the folder
		if address != "" {
			if moved, here, err = p.move(address); err != nil {
				return malformed(lineError(line, "reading BaseURL: %w", err))
			}
		}
		if !here {
			return fmt.Errorf("%w: line %d has the BaseURL %s, expected it relative or on the host of %s",
				ErrElsewhere, line, quote(address), quote(m.decoration.Source))
		}
		m.add(indent, "<", name, ` serviceLocation="`, p.id, `"`, string(attributes), ">", escapeXML(moved), "</", name, ">")
		if len(m.out) > maxDecorated {
			return tooLarge()
		}
	}
	return nil
}

func (m *mpdDecorator) steering(indent []byte, prefix string) {
	m.add(indent, "<", prefix, `ContentSteering defaultServiceLocation="`, m.places[0].id, `" queryBeforeStart="`,
		fmt.Sprint(m.decoration.BeforeStart), `">`, escapeXML(m.decoration.ServerURI), "</", prefix, "ContentSteering>")
}

// keep writes the input up to there as it is.
func (m *mpdDecorator) keep(to int) {
	m.out = append(m.out, m.text[m.copied:to]...)
	m.copied = to
}

func (m *mpdDecorator) add(indent []byte, texts ...string) {
	m.out = append(m.out, indent...)
	for _, text := range texts {
		m.out = append(m.out, text...)
	}
}

// plainXML returns the text that a piece of XML without elements means, without blanks around it.
func plainXML(inner []byte) (string, error) {
	var text strings.Builder
	for decoder := xml.NewDecoder(bytes.NewReader(inner)); ; {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return strings.Trim(text.String(), xmlBlanks), nil
		}
		if err != nil {
			return "", fmt.Errorf("expected well-formed XML: %s", clip([]byte(err.Error()), maxQuoted))
		}
		if data, isText := token.(xml.CharData); isText {
			text.Write(data)
		}
	}
}

func escapeXML(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// hideHyphens makes XML fit for a comment, so that it can be brought back.
func hideHyphens(text string) string {
	return strings.NewReplacer("%", "%25", "-", "%2D").Replace(text)
}
