package config

import "github.com/pointsman-tv/pointsman/farms"

// Spec returns what the table of farms and locations is compiled from. For a
// document that [Parse] returned, [farms.Build] takes it without error.
func (d *Document) Spec() *farms.Spec {
	r := &d.Redirection
	spec := &farms.Spec{
		Rules: farms.Rules{
			StaleIfError: d.Probe.StaleIfError,
			OffAir:       r.OffAir,
			SlowStart:    d.Probe.SlowStart,
			Sticky:       r.Sticky,
			RefuseFrozen: d.Probe.Frozen == FrozenRefuse,
			GoodEnough:   d.Archive.GoodEnough,
		},
		ArrayOrder:       r.LocationMatch == MatchOrder,
		PathwayPerServer: d.Steering != nil && d.Steering.Level == SteerServers,
	}
	known := make(map[string]bool)
	for i := range r.Farms {
		f := &r.Farms[i]
		farm := farms.FarmSpec{
			Name: f.Name, Policy: f.Policy, BoundedLoad: f.BoundedLoad, Assume: f.Content == ContentAssume,
			Archive: farms.ArchiveOptions{
				Contiguous:     f.Archive.Prefer == PreferContiguous,
				MustCoverStart: f.Archive.MustCoverStart,
				MinCoverage:    f.Archive.MinCoverage,
			},
			Pathway: f.Pathway, PublicURL: f.PublicURL,
		}
		for j := range f.Servers {
			s := &f.Servers[j]
			farm.Members = append(farm.Members, farms.MemberSpec{Server: s.Name, Weight: s.Weight})
			if !known[s.Name] {
				known[s.Name] = true
				spec.Servers = append(spec.Servers, s.spec())
			}
		}
		spec.Farms = append(spec.Farms, farm)
	}
	for i := range r.Locations {
		spec.Locations = append(spec.Locations, r.Locations[i].spec())
	}
	return spec
}

func (s *Server) spec() farms.ServerSpec {
	return farms.ServerSpec{
		Name: s.Name, URL: s.URL, HTTPSURL: s.HTTPSURL,
		State: s.State, DrainUntil: s.DrainUntil, LastResort: s.LastResort, Tags: s.Tags,
		StatusPath: s.StatusPath, ProbeHeaders: s.probeHeaders(), ProbeQuery: s.probeQuery(),
		Type: string(s.Type), APIURL: s.APIURL, APIUser: s.APIUser, APISecret: s.APISecret.Reveal(),
		Separate: s.Containers == ContainersSeparate,
	}
}

func (loc *Location) spec() farms.LocationSpec {
	spec := farms.LocationSpec{
		Name: loc.Name, Farms: loc.Farms, URIRegex: loc.URIRegex, Prefixes: loc.Prefixes,
		Hosts: loc.Hosts, FallbackURL: loc.FallbackURL,
	}
	for _, farm := range loc.Farms {
		if percent, ok := loc.Split[farm]; ok {
			spec.Split = append(spec.Split, farms.SplitSpec{Farm: farm, Percent: percent})
		}
	}
	return spec
}
