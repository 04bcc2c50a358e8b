package playlist

import (
	"errors"
	"fmt"
	"strings"
)

const (
	maxPathways      = 16
	maxPathwayID     = 64            // bytes; it stands in every group's name and in every report of a player
	maxDecorated     = 4 << 20       // bytes of a decorated manifest; a ladder of forty variants on sixteen pathways is 200 KiB
	maxSteeringBytes = 8 << 10       // of one address in a Decoration
	forbiddenInURL   = "\"<>\\^`{|}" // RFC 3986 knows none of these unescaped; some would end a quoted value or a text
)

// Why a manifest was left as it is. Each comes wrapped with the line and what was expected; the input is then still good
// to be served as it came.
var (
	// ErrNotMultivariant says that there is nothing to decorate: a media playlist, or one without any variant.
	ErrNotMultivariant = errors.New("not a multivariant playlist")
	// ErrMalformed says that the manifest cannot be read so surely that it can be edited.
	ErrMalformed = errors.New("malformed manifest")
	// ErrSteered says that the manifest names pathways or service locations of its own, or was decorated before. Whoever
	// wrote them has a steering server that knows them; a second one would fight with it.
	ErrSteered = errors.New("the manifest is steered already")
	// ErrElsewhere says that the manifest sends players to hosts that are not the one it came from (a CDN, as a rule), so
	// that no pathway would change where the media come from.
	ErrElsewhere = errors.New("the manifest leads to another host")
	// ErrTooLarge says that the decorated manifest would be longer than 4 MiB.
	ErrTooLarge = errors.New("the decorated manifest would be too large")
)

// Pathway is one pathway as a decorated manifest names it.
type Pathway struct {
	// ID is 1 to 64 bytes of A-Z, a-z, 0-9, point, underscore and hyphen; not of points alone, which players give to
	// streams that have no pathway.
	ID string
	// Base is the absolute URL of the manifest on this pathway: scheme, host and path, no query. Relative addresses of the
	// manifest resolve against it.
	Base string
}

// Decoration is what a manifest is given so that players can be steered.
type Decoration struct {
	// ServerURI is the absolute URL of the steering manifest.
	ServerURI string
	// Pathways are 1 to 16, in order; the first is the one the player starts on.
	Pathways []Pathway
	// Source is the absolute URL the manifest was fetched from, after redirects. Addresses on its host are moved to each
	// pathway; those on other hosts stay as they are.
	Source string
	// BeforeStart makes DASH players ask the steering server before they fetch any media (queryBeforeStart). dash.js then
	// does not start while that server hangs.
	BeforeStart bool
}

// places checks the decoration and returns where each pathway is.
func (d *Decoration) places() ([]place, error) {
	if len(d.Pathways) == 0 || len(d.Pathways) > maxPathways {
		return nil, fmt.Errorf("checking the pathways: there are %d, expected 1 to %d", len(d.Pathways), maxPathways)
	}
	if err := checkPlainURL(d.ServerURI); err != nil {
		return nil, fmt.Errorf("checking the address of the steering manifest: %w", err)
	}
	if err := checkPlainURL(d.Source); err != nil {
		return nil, fmt.Errorf("checking the address that the manifest came from: %w", err)
	}
	places := make([]place, 0, len(d.Pathways))
	for i := range d.Pathways {
		pathway := &d.Pathways[i]
		if !isPathwayID(pathway.ID) {
			return nil, fmt.Errorf("checking the pathways: id is %s, expected 1 to %d of A-Z a-z 0-9 . _ - and not points alone",
				quote(pathway.ID), maxPathwayID)
		}
		for j := range places {
			if places[j].id == pathway.ID {
				return nil, fmt.Errorf("checking the pathways: id %s is there twice", quote(pathway.ID))
			}
		}
		err := checkPlainURL(pathway.Base)
		if err == nil && strings.ContainsAny(pathway.Base, "?#") {
			err = fmt.Errorf("address is %s, expected no query", quote(pathway.Base))
		}
		if err != nil {
			return nil, fmt.Errorf("checking pathway %s: %w", pathway.ID, err)
		}
		places = append(places, newPlace(pathway, d.Source))
	}
	return places, nil
}

func isPathwayID(id string) bool {
	if len(id) > maxPathwayID || strings.Trim(id, ".") == "" {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !isLetter(c) && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// checkPlainURL wants what can stand in a quoted HLS value and in XML text as it is: an absolute http or https URL with
// nothing in it that RFC 3986 wants escaped.
func checkPlainURL(address string) error {
	if len(address) > maxSteeringBytes {
		return fmt.Errorf("address %s is %d bytes long, expected at most %d", quote(address), len(address), maxSteeringBytes)
	}
	for i := range len(address) {
		if c := address[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(forbiddenInURL, c) >= 0 {
			return fmt.Errorf("address %s has the byte 0x%02x at %d, expected it escaped", quote(address), c, i)
		}
	}
	_, err := splitBase(address)
	return err
}

// malformed says where and why a manifest cannot be edited.
func malformed(err error) error { return fmt.Errorf("%w: %w", ErrMalformed, err) }

func tooLarge() error { return fmt.Errorf("%w: expected at most %d bytes", ErrTooLarge, maxDecorated) }
