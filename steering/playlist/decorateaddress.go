package playlist

import "strings"

// movedAddress is an address on every pathway.
type movedAddress struct {
	was       string
	addresses []string
	here      bool // at least on one pathway it is another one
}

// checkAddress refuses what cannot be written into a line of its own and read again.
func (h *hlsDecorator) checkAddress(address string) error {
	for i := range len(address) {
		if c := address[i]; c < ' ' || c == 0x7f {
			return h.fail("URI %s has the control byte 0x%02x at %d", quote(address), c, i)
		}
	}
	if strings.Trim(address, " ") != address {
		return h.fail("URI is %s, expected no blanks around it", quote(address))
	}
	return nil
}

// everywhere moves an address to every pathway.
func (h *hlsDecorator) everywhere(address string) (moved movedAddress, err error) {
	if err := h.checkAddress(address); err != nil {
		return movedAddress{}, err
	}
	moved = movedAddress{was: address, addresses: make([]string, 0, len(h.places))}
	hasVariable := strings.Contains(address, "{$")
	var known beginning
	if hasVariable {
		known = h.variables.begin(address)
	}
	for i := range h.places {
		var there string
		var here bool
		if hasVariable {
			there, here = h.places[i].moveVariable(address, known)
		} else if there, here, err = h.places[i].move(address); err != nil {
			return movedAddress{}, malformed(lineError(h.lines.number, "%w", err))
		}
		moved.addresses, moved.here = append(moved.addresses, there), moved.here || here
	}
	return moved, nil
}

// was keeps an address in a comment where the first pathway's does not tell what it was.
func (h *hlsDecorator) was(tag *hlsTag, moved movedAddress) {
	if h.places[0].written(moved.addresses[0]) != moved.was {
		h.keep(tag.line.start)
		h.add(wasMark, moved.was, h.eol)
	}
}

// session moves the relative URI of a tag that belongs to no pathway. What begins like a scheme (urn:, skd:) is none.
func (h *hlsDecorator) session(tag *hlsTag) error {
	uri := tag.value("URI")
	if uri == "" {
		return nil
	}
	if err := h.checkAddress(uri); err != nil {
		return err
	}
	moved := movedAddress{was: uri, addresses: []string{uri}}
	known := h.variables.begin(uri)
	if kind := kindOf(known.text); kind != kindAbsolute && kind != kindForeign && !beginsLikeScheme(known.text) {
		var err error
		if moved, err = h.everywhere(uri); err != nil {
			return err
		}
	}
	h.was(tag, moved)
	h.keep(tag.line.from)
	h.out = tag.appendTo(h.out, "", "", moved.addresses[0])
	h.copied, h.addedEnd = tag.line.to, false
	return nil
}

// beginsLikeScheme tells "urn:x" from "x/urn:y", by the grammar of RFC 3986 §3.1 alone.
func beginsLikeScheme(address string) bool {
	scheme, _, found := strings.Cut(address, ":")
	return found && scheme != "" && !strings.ContainsAny(scheme, "/?#")
}
