package playlist

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Order says in which byte order a body is UTF-16, nil when it is not. XML begins with ASCII, so without a BOM the
// zero half of the first character tells (XML 1.0 appendix F).
func utf16Order(body []byte) binary.ByteOrder {
	if len(body) < 2 {
		return nil
	}
	switch {
	case body[0] == 0xff && body[1] == 0xfe, body[0] != 0 && body[1] == 0:
		return binary.LittleEndian
	case body[0] == 0xfe && body[1] == 0xff, body[0] == 0 && body[1] != 0:
		return binary.BigEndian
	default:
		return nil
	}
}

// decodeUTF16 returns the body as UTF-8 without a BOM. MistServer and IIS write their Smooth manifests in UTF-16, which
// encoding/xml cannot read. Half pairs become U+FFFD, an odd last byte is dropped.
func decodeUTF16(body []byte) []byte {
	order := utf16Order(body)
	if order == nil {
		text, _ := stripBOM(body)
		return text
	}
	const bom = 0xfeff
	text := make([]byte, 0, len(body)/2+len(body)/8)
	for at := 0; at+1 < len(body); at += 2 {
		r := rune(order.Uint16(body[at:]))
		if at == 0 && r == bom {
			continue
		}
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if at+3 < len(body) {
				low = rune(order.Uint16(body[at+2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				at += 2
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}
