package playlist

import "strings"

// maxKnown bounds how much of an address is looked at with its variables replaced: enough for a scheme and a server's
// own path.
const maxKnown = 1 << 10

// variables are what EXT-X-DEFINE has given names to, with VALUE, so far. Those of QUERYPARAM are known to the player
// only.
type variables map[string]beginning

// beginning is the start of a text; open says that it goes on in a way that cannot be known here.
type beginning struct {
	text string
	open bool
}

// define takes over one EXT-X-DEFINE (draft-pantos-hls-rfc8216bis §4.4.2.3).
func (v variables) define(list attributes) {
	name, value := string(list.get("NAME")), list.get("VALUE")
	if _, twice := v[name]; name == "" || value == nil || twice {
		return
	}
	v[name] = v.begin(string(value))
}

// begin replaces the variables of text as far as they are known.
func (v variables) begin(text string) beginning {
	if !strings.Contains(text, "{$") {
		return beginning{text: text}
	}
	var known strings.Builder
	for known.Len() < maxKnown {
		literal, rest, found := strings.Cut(text, "{$")
		known.WriteString(literal)
		if !found {
			return beginning{text: known.String()}
		}
		name, rest, _ := strings.Cut(rest, "}")
		value, defined := v[name]
		known.WriteString(value.text)
		if !defined || value.open {
			break
		}
		text = rest
	}
	return beginning{text: known.String(), open: true}
}

// moveVariable is move for an address with variables in it. They stay, so nothing is folded or replaced: the pathway is
// put before the address, once it is known what the address is relative to. Where that is not known, or where the host is
// inside a variable, the address stays and is the same on every pathway.
func (p *place) moveVariable(address string, known beginning) (moved string, here bool) {
	literal, _, _ := strings.Cut(address, "{$")
	scheme, _, found := strings.Cut(address, "://")
	if known.text == "" || (found && scheme != "" && !strings.ContainsAny(scheme, "/?#") && kindOf(literal) != kindAbsolute) {
		return address, false // nothing is known, or the scheme is partly in a variable
	}
	switch kindOf(known.text) {
	case kindRelative:
		if known.text[0] == '?' || known.text[0] == '#' {
			return p.base + address, true
		}
		return p.folder + address, true
	case kindRooted:
		return p.moveRooted(address, known.text)
	case kindAbsolute, kindNetwork:
		authority, path, found := cutAuthority(literal)
		if !found || hostOf(authority.or(p.source.scheme)) != hostOf(p.source) {
			return address, false
		}
		rest := address[len(literal)-len(path):]
		moved, here = p.moveRooted(rest, known.text[strings.Index(known.text, "//")+2+len(authority.authority):])
		if !here {
			return address, false
		}
		return moved, true
	default:
		return address, false
	}
}

// moveRooted moves a path whose beginning is known.
func (p *place) moveRooted(path, known string) (moved string, here bool) {
	switch there := p.pathHere(known); {
	case p.sourcePath == p.ownPath:
		return p.root + path, true
	case there == known: // outside of the server's own path
		return p.root + path, true
	case p.sourcePath == "":
		return p.root + p.ownPath + path, true
	case p.pathHere(path) != path:
		return p.root + p.pathHere(path), true
	default: // what would have to be exchanged is inside a variable
		return path, false
	}
}

// cutAuthority cuts "https://host/path" or "//host/path" before the path, which has to begin there.
func cutAuthority(literal string) (authority baseURL, path string, found bool) {
	authority.scheme = httpScheme(literal)
	_, rest, found := strings.Cut(literal, "//")
	if !found {
		return baseURL{}, "", false
	}
	authority.authority, path = splitAt(rest, "/")
	return authority, path, path != ""
}

func (b baseURL) or(scheme string) baseURL {
	if b.scheme == "" {
		b.scheme = scheme
	}
	return b
}
