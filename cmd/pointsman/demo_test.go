package main

import (
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
)

// TestDemoSteers: the demo's steering configuration has no fault, and two
// pathways of the servers that the other configuration has, too.
func TestDemoSteers(t *testing.T) {
	t.Parallel()
	servers, err := startDemoServers()
	must(t, err)
	t.Cleanup(func() {
		for _, s := range servers {
			s.Stop()
		}
	})
	doc, findings := config.Parse(config.Source{Data: encode(t, demoSteeringConfig(servers, 9203, 9204))})
	if doc == nil {
		t.Fatalf("%v", findings)
	}
	if !doc.Steering.Decorate || doc.Steering.PublicURL != "http://127.0.0.1:9203" {
		t.Errorf("steering is %+v, expected to decorate under the viewers' own address", doc.Steering)
	}
	table, err := farms.Build(tableSpec(doc), 1)
	must(t, err)
	pathways := table.Locations[0].Pathways()
	if len(pathways) != 2 {
		t.Fatalf("there are %d pathways, expected 2", len(pathways))
	}
	for i, want := range []struct{ id, url string }{{"near", servers[0].URL()}, {"far", servers[2].URL()}} {
		if p := pathways[i]; p.ID != want.id || p.Base(false) != want.url {
			t.Errorf("pathway %d is %s at %s, expected %s at %s", i, p.ID, p.Base(false), want.id, want.url)
		}
	}
}
