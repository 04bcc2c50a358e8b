package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// loader is one run of [Parse].
type loader struct {
	report
	src   Source
	root  *node
	plans map[reflect.Type][]field  // by struct type
	ours  bool                      // the document has a key that SmartMEDIA does not know
	zones map[string]*time.Location // by name, nil for what is none
}

// field is what the tags of a struct field say.
type field struct {
	key       string
	position  int // in the struct
	limits    limits
	enum      []string
	single    bool
	ours      bool   // not one of SmartMEDIA's keys
	prototype string // name of the field whose value an array's entries begin with
	fallback  string // the default, as text
}

// limits bound a number, the bytes of a string, or the entries of an array or
// object. The zero limits bound nothing.
type limits struct {
	set      bool
	low, top float64
}

// planOf reads the tags of a struct type.
func planOf(t reflect.Type) []field {
	var plan []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		key := tag.Get("json")
		if key == "" || key == "-" {
			continue
		}
		f := field{key: key, position: i, single: tag.Get("single") != "", prototype: tag.Get("prototype"), ours: tag.Get("smartmedia") == "", fallback: tag.Get("default")}
		if words := tag.Get("enum"); words != "" {
			f.enum = strings.Split(words, ",")
		}
		if low, top, ok := strings.Cut(tag.Get("limits"), ".."); ok {
			f.limits.set = true
			f.limits.low, _ = strconv.ParseFloat(low, 64)
			f.limits.top, _ = strconv.ParseFloat(top, 64)
		}
		plan = append(plan, f)
	}
	return plan
}

func (l *loader) plan(t reflect.Type) []field {
	plan, ok := l.plans[t]
	if !ok {
		plan = planOf(t)
		if l.plans == nil {
			l.plans = map[reflect.Type][]field{}
		}
		l.plans[t] = plan
	}
	return plan
}

// bind reads n into v. v keeps what it has, its default, when n is absent or
// wrong; what is wrong is reported.
func (l *loader) bind(n *node, v reflect.Value, f *field) {
	if n.kind == kindNull {
		l.errorf(n, "is null, expected %s; leave the key out to have its default", expectation(v.Type(), f))
		return
	}
	if l.bindValue(n, v.Addr().Interface(), f) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		l.bindStruct(n, v)
	case reflect.Pointer:
		section := reflect.New(v.Type().Elem())
		setDefaults(section.Elem())
		l.bindStruct(n, section.Elem())
		v.Set(section)
	case reflect.Slice:
		l.bindSlice(n, v, f, reflect.Value{})
	case reflect.Map:
		l.bindMap(n, v, f)
	case reflect.String:
		if l.isKind(n, kindString, v.Type(), f) && l.isWord(n, f) && l.fits(n, f) {
			v.SetString(n.text)
		}
	}
}

// bindStruct reads an object whose keys are those of v's type.
func (l *loader) bindStruct(n *node, v reflect.Value) {
	if !l.isKind(n, kindObject, v.Type(), nil) {
		return
	}
	plan := l.plan(v.Type())
	found := make([]*node, len(plan))
	for c := n.first; c != nil; c = c.next {
		if strings.HasPrefix(c.key, "_") {
			continue // a comment
		}
		switch i := indexOfKey(plan, c.key); {
		case i < 0:
			l.unknownKey(c, plan)
		case found[i] != nil:
			l.duplicateKey(c, found[i])
		default:
			found[i] = c
			l.ours = l.ours || plan[i].ours
		}
	}
	// In the order of the struct, so that a prototype is there when it is used.
	for i := range plan {
		f := &plan[i]
		switch c := found[i]; {
		case c == nil:
		case f.prototype != "" && c.kind != kindNull:
			l.bindSlice(c, v.Field(f.position), f, v.FieldByName(f.prototype))
		default:
			l.bind(c, v.Field(f.position), f)
		}
	}
}

func indexOfKey(plan []field, key string) int {
	for i := range plan {
		if plan[i].key == key {
			return i
		}
	}
	return -1
}

func (l *loader) unknownKey(n *node, plan []field) {
	if l.full(Error) {
		l.errorf(n, "unknown key")
		return
	}
	keys := make([]string, len(plan))
	for i := range plan {
		keys[i] = plan[i].key
	}
	if near := closest(n.key, keys); near != "" {
		l.errorf(n, "unknown key; did you mean %q?", near)
		return
	}
	l.errorf(n, "unknown key")
}

func (l *loader) duplicateKey(n, first *node) {
	if l.full(Error) { // the line is costly to know
		l.errorf(n, "duplicate key")
		return
	}
	at := position{line: 1, column: 1}.forward(l.text, int(first.offset))
	l.errorf(n, "duplicate key, it is in line %d already", at.line)
}

// bindSlice reads an array. Its entries begin as prototype, where there is one,
// else with the defaults of their type. An entry that is wrong stays as it
// began, so that positions in v are those in the document.
func (l *loader) bindSlice(n *node, v reflect.Value, f *field, prototype reflect.Value) {
	elem := v.Type().Elem()
	if !prototype.IsValid() {
		prototype = reflect.New(elem).Elem()
		if elem.Kind() == reflect.Struct {
			setDefaults(prototype)
		}
	}
	if !l.isKind(n, kindArray, v.Type(), f) || !l.within(n, float64(n.count), f, " entries") {
		return
	}
	out := reflect.MakeSlice(v.Type(), int(n.count), int(n.count))
	inner := &field{}
	for i, c := 0, n.first; c != nil; i, c = i+1, c.next {
		out.Index(i).Set(prototype)
		l.bind(c, out.Index(i), inner)
	}
	v.Set(out)
}

// bindMap reads an object whose keys are the operator's.
func (l *loader) bindMap(n *node, v reflect.Value, f *field) {
	if !l.isKind(n, kindObject, v.Type(), f) {
		return
	}
	out := reflect.MakeMap(v.Type())
	first := make(map[string]*node)
	inner := &field{}
	for c := n.first; c != nil; c = c.next {
		if strings.HasPrefix(c.key, "_") {
			continue
		}
		if other := first[c.key]; other != nil {
			l.duplicateKey(c, other)
			continue
		}
		first[c.key] = c
		value := reflect.New(v.Type().Elem()).Elem()
		l.bind(c, value, inner)
		out.SetMapIndex(reflect.ValueOf(c.key), value)
	}
	if l.within(n, float64(len(out.MapKeys())), f, " entries") {
		v.Set(out)
	}
}

// isKind checks a node's JSON type. f may be nil.
func (l *loader) isKind(n *node, want kind, t reflect.Type, f *field) bool {
	if n.kind != want {
		l.errorf(n, "%s, expected %s", n.describe(), expectation(t, f))
		return false
	}
	return true
}

// isWord checks a string against the allowed words.
func (l *loader) isWord(n *node, f *field) bool {
	if f.enum == nil {
		return true
	}
	for _, word := range f.enum {
		if word == n.text {
			return true
		}
	}
	l.errorf(n, "is %s, expected %s", quote(n.text), alternatives(f.enum))
	return false
}

// within checks a number, or a size in the given unit, against the limits.
func (l *loader) within(n *node, x float64, f *field, unit string) bool {
	if !f.limits.set || x >= f.limits.low && x <= f.limits.top {
		return true
	}
	said, expected := "is "+clip(n.text, maxQuotedBytes), f.limits.String()
	if unit != "" {
		said = "has " + formatNumber(x) + unit
		if f.limits.low == 0 {
			expected = "at most " + formatNumber(f.limits.top)
		}
	}
	l.errorf(n, "%s, expected %s", said, expected)
	return false
}

// fits checks the bytes of a string against its limits, or the general one.
func (l *loader) fits(n *node, f *field) bool {
	if f.limits.set {
		return l.within(n, float64(len(n.text)), f, " bytes")
	}
	if len(n.text) > maxStringBytes {
		l.errorf(n, "has %d bytes, expected at most %d", len(n.text), maxStringBytes)
		return false
	}
	return true
}

func (b limits) String() string { return formatNumber(b.low) + " to " + formatNumber(b.top) }

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// alternatives joins words for a message: "a", "b" or "c".
func alternatives(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// expectation says what a field of type t is written as. f may be nil.
func expectation(t reflect.Type, f *field) string {
	switch {
	case f != nil && f.enum != nil:
		return alternatives(f.enum)
	case f != nil && f.single:
		return "a string or an array of strings"
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "a number of seconds"
	case reflect.TypeFor[time.Time]():
		return "a time as in 2026-01-02T15:04:05Z, or Unix seconds"
	case reflect.TypeFor[*time.Location]():
		return "a string with a time zone such as Europe/Berlin, or UTC"
	case reflect.TypeFor[netip.Addr]():
		return "a string with an IP address"
	case reflect.TypeFor[netip.Prefix]():
		return "a string with a CIDR"
	case reflect.TypeFor[farms.Policy](), reflect.TypeFor[farms.State]():
		return "a string"
	case reflect.TypeFor[Secret]():
		return `a string or {"file": "PATH"}`
	case reflect.TypeFor[Ignored]():
		return "anything else"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Pointer:
		return "an object"
	case reflect.Map:
		return "an object"
	case reflect.Slice:
		switch t.Elem().Kind() {
		case reflect.Struct:
			if t.Elem() == reflect.TypeFor[netip.Prefix]() {
				return "an array of strings"
			}
			return "an array of objects"
		default:
			return "an array of strings"
		}
	default:
		return "a string"
	}
}

// setDefaults gives every field of a struct the default of its tag, in nested
// structs too. Sections that are off until they are written are pointers, and
// stay nil.
func setDefaults(v reflect.Value) {
	for _, f := range planOf(v.Type()) {
		target := v.Field(f.position)
		if target.Kind() == reflect.Struct && f.fallback == "" && target.NumField() > 0 && !isValueType(target.Type()) {
			setDefaults(target)
			continue
		}
		if f.fallback != "" {
			setDefault(target, f.fallback)
		}
	}
}

// setDefault reads one default. The tags are ours: a test holds that each of
// them is well formed.
func setDefault(v reflect.Value, text string) {
	switch target := v.Addr().Interface().(type) {
	case *time.Duration:
		seconds, _ := strconv.ParseFloat(text, 64)
		*target = time.Duration(seconds * float64(time.Second))
	case **time.Location:
		*target, _ = time.LoadLocation(text)
	case *netip.Addr:
		*target, _ = netip.ParseAddr(text)
	case *farms.Policy:
		*target, _ = farms.ParsePolicy(text)
	case *farms.State:
		*target, _ = farms.ParseState(text)
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString(text)
		case reflect.Int:
			i, _ := strconv.ParseInt(text, 10, 64)
			v.SetInt(i)
		case reflect.Float64:
			x, _ := strconv.ParseFloat(text, 64)
			v.SetFloat(x)
		case reflect.Bool:
			v.SetBool(text == "true")
		default:
			panic(fmt.Sprintf("config: a field of type %s has the default %q, and such fields have none", v.Type(), text))
		}
	}
}

// isValueType tells apart the structs that are one JSON value.
func isValueType(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[netip.Addr]() || t == reflect.TypeFor[Ignored]()
}
