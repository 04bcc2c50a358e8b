package config

import (
	"net/netip"
	"reflect"

	"github.com/pointsman-tv/pointsman/farms"
)

// Document is the whole configuration, with every default filled in, every
// file read and every path resolved.
type Document struct {
	// The viewer listener and the process.
	Core Core `json:"core" smartmedia:"yes"`
	// The listener for the operator.
	Admin Admin `json:"admin"`
	// What is served by whom, to whom.
	Redirection Redirection `json:"redirection" smartmedia:"yes"`
	// How servers are asked.
	Probe Probe `json:"probe"`
	// How archive URLs are read and when a server holds enough of a window.
	Archive Archive `json:"archive"`
	// Content steering: manifests that tell players which pathways to use. Absent: off.
	Steering *Steering `json:"steering"`
	// When alarms come on and go, and who is told.
	Alarms Alarms `json:"alarms"`
	// What is logged.
	Log Log `json:"log"`
}

// Source is the text of a document and what it needs around it.
type Source struct {
	// Data is the JSON text, at most 64 MiB.
	Data []byte
	// Dir is what relative file names in the document are relative to; empty is the
	// working directory.
	Dir string
	// ReadFile reads a file that the document names. Nil reads regular files from
	// the disk and no more of them than is allowed.
	ReadFile func(path string) ([]byte, error)
	// LocalAddrs are this machine's own addresses, unmapped and without zones. With
	// them a server that is our own listener is found out. It may be nil.
	LocalAddrs []netip.Addr
}

// Default returns a document in which every key has its default. It has no
// farms and no locations.
func Default() *Document {
	d := &Document{}
	setDefaults(reflect.ValueOf(d).Elem())
	d.Archive.Dialects = DialectNames()
	return d
}

// Parse reads a document. It reports everything that is wrong at once, errors
// first, each severity in the order of the text and at most 200 of it. The
// document is nil when there is an error. Findings that go beyond the form,
// such as a location that can never match, are reported for documents without
// errors.
func Parse(src Source) (*Document, []Finding) {
	l := &loader{src: src}
	l.text = string(src.Data)
	d := l.load()
	if l.failed() {
		d = nil
	}
	return d, l.findings()
}

func (l *loader) load() *Document {
	if l.root = scan(l.text, &l.report); l.root == nil {
		return nil
	}
	d := Default()
	l.bindStruct(l.root, reflect.ValueOf(d).Elem())
	if l.root.failed {
		return nil // not an object: everything in it would be missing
	}
	l.checkCore(l.root.get("core"), &d.Core)
	l.checkAdmin(l.root.get("admin"), d)
	l.checkRedirection(l.root.get("redirection"), d)
	l.checkProbe(l.root.get("probe"), &d.Probe)
	l.checkArchive(l.root.get("archive"), &d.Archive)
	l.checkSteering(l.root.get("steering"), d)
	l.checkAlarms(l.root.get("alarms"), &d.Alarms)
	l.checkLog(l.root.get("log"), &d.Log)
	if l.failed() {
		return nil
	}
	table, err := farms.Build(d.Spec(), 0)
	if err != nil {
		// Only what no check can see, such as two names with the same hash.
		l.errorf(l.root.get("redirection"), "cannot be compiled: %v", err)
		return nil
	}
	l.warn(d, table)
	return d
}
