package playlist

import "strings"

// place is one pathway, as addresses of the manifest are moved to it.
//
// Servers of one farm hold the same content, but not always under the same path: "https://a/live/ch/index.m3u8" may be
// "https://cdn/customer/live/ch/index.m3u8" elsewhere. The folders that the source and the pathway end with in common are
// the content's; what stands before them is the server's, and is exchanged.
type place struct {
	id     string
	base   string // the manifest here
	folder string // base up to its last slash
	root   string // scheme and host of base

	source              baseURL // the manifest where it came from
	sourcePath, ownPath string  // the servers' own paths, without a slash at the end; often both are empty
}

func newPlace(pathway *Pathway, source string) place {
	base, _ := splitBase(pathway.Base) // both are checked
	from, _ := splitBase(source)
	p := place{id: pathway.ID, base: pathway.Base, root: base.scheme + "://" + base.authority, source: from}
	ownFolder, sourceFolder := folderOf(base.path), folderOf(from.path)
	p.folder = p.root + ownFolder
	same := commonFolders(ownFolder, sourceFolder)
	p.ownPath, p.sourcePath = ownFolder[:len(ownFolder)-same], sourceFolder[:len(sourceFolder)-same]
	return p
}

func folderOf(path string) string {
	if end := strings.LastIndexByte(path, '/'); end >= 0 {
		return path[:end+1]
	}
	return "/"
}

// commonFolders returns how many bytes of whole folders a and b, which end with a slash, have in common at their ends.
func commonFolders(a, b string) (length int) {
	for i := 1; i <= min(len(a), len(b)) && a[len(a)-i] == b[len(b)-i]; i++ {
		if a[len(a)-i] == '/' {
			length = i
		}
	}
	return length
}

// addressKind is what an address is relative to.
type addressKind uint8

const (
	kindRelative addressKind = iota // to the folder, or to the document for "?query" and "#fragment"
	kindRooted                      // to the host
	kindNetwork                     // to the scheme
	kindAbsolute                    // to nothing: http or https
	kindForeign                     // to nothing: another scheme
)

func kindOf(address string) addressKind {
	switch {
	case httpScheme(address) != "":
		return kindAbsolute
	case isOtherScheme(address):
		return kindForeign
	case strings.HasPrefix(address, "//"):
		return kindNetwork
	case strings.HasPrefix(address, "/"):
		return kindRooted
	default:
		return kindRelative
	}
}

// move returns the address of the same thing on this pathway, always absolute. An address of another host or scheme comes
// back as it is and is not moved.
func (p *place) move(address string) (moved string, here bool, err error) {
	kind := kindOf(address)
	if kind == kindForeign {
		return address, false, nil
	}
	if err := checkReference(address); err != nil {
		return "", false, err
	}
	rest, fragment := splitAt(address, "#")
	switch kind {
	case kindNetwork:
		rest = p.source.scheme + ":" + rest
	case kindRooted:
		path, query := splitAt(rest, "?")
		return p.root + p.pathHere(removeDotSegments(path)) + query + fragment, true, nil
	case kindRelative:
		moved, err = Resolve(p.base, address)
		return moved, err == nil, err
	}
	there, err := splitBase(rest)
	if err != nil {
		return "", false, err
	}
	if hostOf(there) != hostOf(p.source) {
		return address, false, nil
	}
	return p.root + p.pathHere(removeDotSegments(there.path)) + there.query + fragment, true, nil
}

// pathHere exchanges the source server's own path for this one's. What lies outside of it belongs to the host.
func (p *place) pathHere(path string) string {
	if below, found := strings.CutPrefix(path, p.sourcePath); found && (below == "" || below[0] == '/') {
		return p.ownPath + below
	}
	return path
}

// hostOf makes hosts comparable: case and the scheme's own port make no difference, and so neither does the scheme.
func hostOf(address baseURL) string {
	host := strings.ToLower(address.authority)
	if strings.EqualFold(address.scheme, "https") {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// written returns what an address on this pathway most likely was before it was moved: relative to the manifest's folder.
// Where it was something else, the decorated manifest has to say so.
func (p *place) written(moved string) string { return strings.TrimPrefix(moved, p.folder) }
