package playlist

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"time"
)

const (
	maxXMLDepth    = 32      // an MPD's own elements go eight deep; foreign ones (events, DRM) a few deeper
	maxXMLElements = 500_000 // a day of two-second segments, one S each, in ten representations
)

// xmlReader walks a document element by element and keeps none of it. encoding/xml knows no entities but XML's own five,
// so nothing can expand.
type xmlReader struct {
	decoder  *xml.Decoder
	depth    int
	elements int
}

// unknownEncoding is an encoding declaration that this package cannot follow.
type unknownEncoding string

func (e unknownEncoding) Error() string { return "unknown encoding " + quote(string(e)) }

func newXMLReader(body []byte) *xmlReader {
	decoder := xml.NewDecoder(bytes.NewReader(decodeUTF16(body)))
	decoder.CharsetReader = func(label string, input io.Reader) (io.Reader, error) {
		switch strings.ToLower(label) {
		case "utf-16", "utf-16le", "utf-16be", "us-ascii": // decoded already, or nothing to decode
			return input, nil
		default:
			return nil, unknownEncoding(label)
		}
	}
	return &xmlReader{decoder: decoder}
}

// root returns the first element.
func (r *xmlReader) root() (element, error) {
	token, err := r.next()
	if errors.Is(err, io.EOF) {
		return element{}, errors.New("the body has no element, expected an XML document")
	}
	if err != nil {
		return element{}, err
	}
	start, _ := token.(xml.StartElement) // the decoder refuses an end without a start
	return r.element(start), nil
}

// rootNamed returns the root element, which has to have that name.
func (r *xmlReader) rootNamed(name string) (element, error) {
	root, err := r.root()
	if err == nil && root.Name.Local != name {
		err = root.fail("the root element is %s, expected %s", quote(root.Name.Local), name)
	}
	return root, err
}

// children calls visit for every child of the element that was started last. What visit leaves unread of a child is
// passed over.
func (r *xmlReader) children(visit func(element) error) error {
	inside := r.depth
	for {
		token, err := r.next()
		if err != nil {
			return err
		}
		start, isStart := token.(xml.StartElement)
		switch {
		case isStart && r.depth == inside+1:
			if err := visit(r.element(start)); err != nil {
				return err
			}
		case !isStart && r.depth < inside:
			return nil
		}
	}
}

// next returns the next start or end tag.
func (r *xmlReader) next() (xml.Token, error) {
	for {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, r.explain(err)
		}
		switch token.(type) {
		case xml.StartElement:
			r.depth++
			r.elements++
			if r.depth > maxXMLDepth {
				return nil, lineError(r.line(), "elements are nested deeper than %d", maxXMLDepth)
			}
			if r.elements > maxXMLElements {
				return nil, lineError(r.line(), "the document goes on, expected at most %d elements", maxXMLElements)
			}
			return token, nil
		case xml.EndElement:
			r.depth--
			return token, nil
		}
	}
}

func (r *xmlReader) element(start xml.StartElement) element {
	return element{StartElement: start, line: r.line()}
}

func (r *xmlReader) line() int {
	line, _ := r.decoder.InputPos()
	return line
}

// explain turns the decoder's error into a bounded one that names the line.
func (r *xmlReader) explain(err error) error {
	var encoding unknownEncoding
	var syntax *xml.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return err
	case errors.As(err, &encoding):
		return lineError(r.line(), "the encoding is %s, expected UTF-8 or UTF-16", quote(string(encoding)))
	case errors.As(err, &syntax):
		return lineError(syntax.Line, "expected well-formed XML: %s", clip([]byte(syntax.Msg), maxQuoted))
	default:
		return lineError(r.line(), "expected well-formed XML: %s", clip([]byte(err.Error()), maxQuoted))
	}
}

// element is a start tag with the line it ends on.
type element struct {
	xml.StartElement
	line int
}

func (e element) fail(format string, args ...any) error { return lineError(e.line, format, args...) }

// text returns an attribute without surrounding blanks, as XML schema reads all but plain strings.
func (e element) text(name string) (value string, present bool) {
	for _, attribute := range e.Attr {
		if attribute.Name.Local == name && attribute.Name.Space == "" {
			return strings.TrimSpace(attribute.Value), true
		}
	}
	return "", false
}

// number reads an attribute that is a whole number, or returns fallback when it is absent.
func (e element) number(name string, fallback uint64) (uint64, error) {
	text, present := e.text(name)
	if !present {
		return fallback, nil
	}
	value, ok := parseWhole(text)
	if !ok {
		return 0, e.fail("%s@%s is %s, expected a whole number", e.Name.Local, name, quote(text))
	}
	return value, nil
}

// timescale reads how many units make a second, which cannot be none.
func (e element) timescale(name string, fallback uint64) (uint64, error) {
	value, err := e.number(name, fallback)
	if err == nil && value == 0 {
		err = e.fail("%s@%s is 0, expected units per second", e.Name.Local, name)
	}
	return value, err
}

// duration reads an xs:duration, or 0 when it is absent.
func (e element) duration(name string) (value time.Duration, present bool, err error) {
	text, present := e.text(name)
	if !present {
		return 0, false, nil
	}
	value, ok := parseISODuration(text)
	if !ok {
		return 0, false, e.fail("%s@%s is %s, expected a duration such as PT2S", e.Name.Local, name, quote(text))
	}
	return value, true, nil
}
