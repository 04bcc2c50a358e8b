package test

import (
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// assumed is a farm whose servers are never asked about content. A server is
// "name URL".
func assumed(name, policy string, servers ...string) rig.Config {
	f := probed(name, policy, servers...)
	f["content"] = "assume"
	return f
}

// probed is a farm whose servers are asked about content.
func probed(name, policy string, servers ...string) rig.Config {
	var list []rig.Config
	for _, s := range servers {
		name, url, _ := strings.Cut(s, " ")
		list = append(list, rig.Config{"name": name, "url": url})
	}
	return rig.Config{"name": name, "policy": policy, "servers": list}
}

// place is a location; farms are separated by spaces.
func place(name, farms string, masks ...string) rig.Config {
	return rig.Config{"name": name, "farms": strings.Fields(farms), "ip_mask": masks}
}

var everywhere = []string{"0.0.0.0/0", "::/0"}

// redirection is the section with farms and locations, both []rig.Config. The
// channel is the first folder.
func redirection(farms, locations []rig.Config) rig.Config {
	return rig.Config{
		"uri_path": "/", "channel_regex": "^([^/]+)/", "farms": farms, "locations": locations,
		"live_cache_time_sec": 60, "return_evidence": "off",
	}
}

// trusting is a core section that believes the forwarding headers of loopback.
func trusting() rig.Config { return rig.Config{"trusted_proxies": []string{"127.0.0.1/32"}} }

// liveOrigin starts a fake server that has every channel.
func liveOrigin(t *testing.T, name string) *rig.Origin {
	t.Helper()
	o := rig.NewOrigin(t, name, "")
	o.SetRest(rig.Live)
	return o
}

// follow asks for a path as a viewer behind a trusted proxy.
func follow(p *rig.Pointsman, addr, path string, header ...string) rig.Response {
	p.T.Helper()
	return p.Get(path, append([]string{"X-Forwarded-For", addr}, header...)...)
}
