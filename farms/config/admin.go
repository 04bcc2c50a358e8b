package config

import "net/netip"

// Admin is the listener for the operator: status, metrics, explain, reload.
type Admin struct {
	// Address the admin listener binds. Beyond loopback, tokens are required.
	Interface netip.Addr `json:"interface" default:"127.0.0.1"`
	// Port of the admin listener.
	Port int `json:"port" default:"9202" limits:"1..65535"`
	// File with the bearer token for reading (status, metrics, explain): 16 to 512
	// visible ASCII characters; relative to this file. Needs `act_token_file`.
	ReadTokenFile string `json:"read_token_file"`
	// File with the bearer token for acting (reload, drain, overrides), which may
	// read too; as `read_token_file`.
	ActTokenFile string `json:"act_token_file"`
	// One file for both; excludes the other two.
	TokenFile string `json:"token_file"`

	// ReadToken and ActToken are what the files hold; empty where there is none.
	ReadToken, ActToken Secret `json:"-"`
}

const (
	minTokenBytes = 16
	maxTokenBytes = 512
)

func (l *loader) checkAdmin(n *node, d *Document) {
	a := &d.Admin
	both, read, act := n.get("token_file"), n.get("read_token_file"), n.get("act_token_file")
	given := func(n *node) bool { return n.kind != kindAbsent }
	a.ReadToken, a.ActToken = l.readToken(read, &a.ReadTokenFile), l.readToken(act, &a.ActTokenFile)
	if given(both) {
		token := l.readToken(both, &a.TokenFile)
		a.ReadToken, a.ActToken = token, token
	}
	switch {
	case given(both) && (given(read) || given(act)):
		l.errorf(both, "excludes read_token_file and act_token_file, expected either it or them")
	case given(read) && !given(act):
		l.errorf(read, "leaves acting open to everybody while reading is not, expected act_token_file beside it")
	case !a.Interface.IsLoopback() && !given(both) && !(given(read) && given(act)):
		l.errorf(n.get("interface"), "is %s, which others can reach; expected token_file, or read_token_file and act_token_file, beside it", a.Interface)
	}
	viewer := listener{addr: d.Core.Interface, port: d.Core.Port}
	if (listener{addr: a.Interface, port: a.Port}).overlaps(viewer) {
		l.errorf(n.get("port"), "is %d, which is core.port too; expected another", a.Port)
	}
	if t := d.Core.TLS; t != nil {
		viewer.port = t.Port
		if (listener{addr: a.Interface, port: a.Port}).overlaps(viewer) {
			l.errorf(n.get("port"), "is %d, which is core.tls.port too; expected another", a.Port)
		}
	}
}

// readToken reads the token file that the key at n names, if it does.
func (l *loader) readToken(n *node, file *string) Secret {
	if !n.present() {
		return ""
	}
	text, ok := l.readSecretFile(n, *file)
	*file = l.resolve(*file)
	if !ok {
		return ""
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			l.errorf(n, "the file holds something other than visible ASCII characters in one line, expected a token of %d to %d of them", minTokenBytes, maxTokenBytes)
			return ""
		}
	}
	if len(text) < minTokenBytes || len(text) > maxTokenBytes {
		l.errorf(n, "the file holds a token of %d characters, expected %d to %d", len(text), minTokenBytes, maxTokenBytes)
		return ""
	}
	return Secret(text)
}
