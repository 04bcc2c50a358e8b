package farms_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// row is one decision. What is empty is expected to be empty: a row that says
// nothing of questions holds that none is asked.
type row struct {
	name  string
	rule  string   // what the design says
	farms []string // see newScene

	prior, avoid string
	sticky       bool
	secure       bool
	reach        farms.Reach // ReachV4 when not given
	kind         farms.Kind
	overrides    farms.Overrides
	rules        func(*farms.Rules)
	opt          farms.Options

	want    string       // server and why, "" for nobody
	reason  farms.Reason // when nobody
	ask     string
	askFarm int // when nobody is chosen yet
	refresh string
	whys    string // of some candidates, as another call with Options.Every tells them
}

var (
	final = farms.Options{Final: true}
	busy  = farms.Options{Final: true, Busy: true}
)

func hardGateRows() []row {
	in10s, past := now().Add(10*time.Second), ago(10)
	return []row{
		{
			name: "disabled", rule: "hard gate: disabled",
			farms: []string{"weight a:present,w2,disabled b:present"}, want: "b chosen", whys: "a=disabled",
		},
		{
			name: "disabled_prior", rule: "disabled takes nobody, not even those who were there",
			farms: []string{"first_response a:present,disabled b:present"}, prior: "a", sticky: true, want: "b chosen",
		},
		{
			name: "draining", rule: "hard gate: draining takes no new session",
			farms: []string{"weight a:present,w2,draining b:present"}, want: "b chosen", whys: "a=draining",
		},
		{
			name: "draining_prior_weight", rule: "draining, except sessions already there",
			farms: []string{"weight a:present b:present,draining"}, prior: "b", want: "b kept", whys: "a=not_picked",
		},
		{
			name: "draining_prior_content_id", rule: "draining, except sessions already there",
			farms: []string{"content_id a:present b:present,draining"}, prior: "b", want: "b kept",
		},
		{
			name: "draining_prior_share", rule: "draining, except sessions already there",
			farms: []string{"share a:present b:present,draining"}, prior: "b", want: "b kept",
		},
		{
			name: "draining_prior_first_response", rule: "draining, except sessions already there; the sticky time is not its business",
			farms: []string{"first_response a:present b:present,draining"}, prior: "b", want: "b kept",
		},
		{
			name: "draining_prior_asks_nobody", rule: "an answer that cannot change the choice is not asked for",
			farms: []string{"content_id a b:present,draining"}, prior: "b", want: "b kept",
		},
		{
			name: "drain_ended", rule: "draining until drain_until, then as disabled",
			farms: []string{"weight a:present b:present,drained"}, prior: "b", want: "a chosen", whys: "b=disabled",
		},
		{
			name: "down", rule: "hard gate: down",
			farms: []string{"weight a:present,w2,down b:present"}, want: "b chosen", whys: "a=down",
		},
		{
			name: "down_prior", rule: "hard gate: down, for those who were there too",
			farms: []string{"first_response a:present,down b:present"}, prior: "a", sticky: true, want: "b chosen",
		},
		{
			name: "health_unknown", rule: "a server not asked yet is usable",
			farms: []string{"weight a:present,w2,nohealth b:present"}, want: "a chosen",
		},
		{
			name: "scheme_https_viewer", rule: "an https viewer only goes to https",
			farms: []string{"weight a:present,w2 b:present,https"}, secure: true, want: "b chosen", whys: "a=scheme",
		},
		{
			name: "scheme_https_url", rule: "an https viewer goes to https_url",
			farms: []string{"weight a:present,w2,both b:present,https"}, secure: true, want: "a chosen",
		},
		{
			name: "scheme_http_viewer", rule: "an http viewer goes to http where there is one, else to https",
			farms: []string{"weight a:present,w2,https b:present"}, want: "a chosen",
		},
		{
			name: "scheme_nobody", rule: "never https to http, even when nobody is left",
			farms: []string{"weight a"}, secure: true, opt: final, reason: farms.ReasonFarmDown, whys: "a=scheme",
		},
		{
			name: "absent", rule: "hard gate: absent",
			farms: []string{"weight a:absent,w2 b:present"}, want: "b chosen", whys: "a=absent",
		},
		{
			name: "override_disables", rule: "the operator's word wins over the configuration",
			farms:     []string{"weight a:present,w2 b:present"},
			overrides: farms.Overrides{"a": {State: farms.StateDisabled, Until: in10s}}, want: "b chosen", whys: "a=disabled",
		},
		{
			name: "override_enables", rule: "the operator's word wins over the configuration",
			farms:     []string{"weight a:present,w2,disabled b:present"},
			overrides: farms.Overrides{"a": {State: farms.StateEnabled}}, want: "a chosen",
		},
		{
			name: "override_ended", rule: "an override ends at its time",
			farms:     []string{"weight a:present,w2 b:present"},
			overrides: farms.Overrides{"a": {State: farms.StateDisabled, Until: now()}}, want: "a chosen",
		},
		{
			name: "override_drains", rule: "a drain at run time keeps those who are there",
			farms:     []string{"weight a:present,w2 b:present"},
			overrides: farms.Overrides{"a": {State: farms.StateDraining, Until: in10s}}, want: "b chosen", whys: "a=draining",
		},
		{
			name: "override_drains_prior", rule: "a drain at run time keeps those who are there",
			farms: []string{"weight a:present b:present,w2"}, prior: "a",
			overrides: farms.Overrides{"a": {State: farms.StateDraining, Until: in10s}}, want: "a kept",
		},
		{
			name: "override_drain_ended", rule: "what was drained stays out until the operator says else",
			farms: []string{"weight a:present,w2 b:present"}, prior: "a",
			overrides: farms.Overrides{"a": {State: farms.StateDraining, Until: past}}, want: "b chosen", whys: "a=disabled",
		},
	}
}

func classRows() []row {
	return []row{
		{
			name: "guarded_behind_confirmed", rule: "class: confirmed present, then guarded",
			farms: []string{"weight a:guarded,w2 b:present"}, want: "b chosen", whys: "a=guarded",
		},
		{
			name: "guarded_behind_confirmed_first_response", rule: "class: confirmed present, then guarded",
			farms: []string{"first_response a:guarded,rtt1 b:present,rtt900"}, want: "b chosen", whys: "a=guarded",
		},
		{
			name: "stale_behind_guarded", rule: "class: guarded, then stale",
			farms: []string{"weight a:trouble,held100,w2 b:guarded"}, want: "b guarded", whys: "a=stale",
		},
		{
			name: "stale_when_nobody_else", rule: "stale: was present, cannot be asked now",
			farms: []string{"weight a:trouble,held100 b:absent"}, want: "a stale", whys: "b=absent",
		},
		{
			name: "guarded_only", rule: "only guarded servers: redirect",
			farms: []string{"first_response a:guarded b:absent"}, want: "a guarded",
		},
		{
			name: "confirmed_in_later_farm", rule: "the class comes before the farm",
			farms: []string{"weight a:guarded", "weight b:present"}, want: "b chosen", whys: "a=guarded",
		},
		{
			name: "guarded_in_later_farm", rule: "the class comes before the farm",
			farms: []string{"weight a:trouble,held100", "weight b:guarded"}, want: "b guarded", whys: "a=stale",
		},
		{
			name: "guarded_in_both_farms", rule: "within a class the earlier farm",
			farms: []string{"weight a:guarded", "weight b:guarded"}, want: "a guarded", whys: "b=guarded",
		},
		{
			name: "confirmed_in_both_farms", rule: "within a class the earlier farm; the later is not needed",
			farms: []string{"weight a:present", "weight b:present,w9"}, want: "a chosen", whys: "b=not_needed",
		},
		{
			name: "guarded_prior_not_chosen", rule: "a why tells what became of the candidate: it was not kept",
			farms: []string{"first_response a:guarded", "first_response b:present"}, prior: "a", sticky: true,
			want: "b chosen", whys: "a=guarded",
		},
		{
			name: "guarded_prior_chosen", rule: "only guarded servers: redirect and an alarm, for those who were there too",
			farms: []string{"first_response a:guarded b:guarded"}, prior: "b", sticky: true, want: "b guarded", whys: "a=guarded",
		},
		{
			name: "ended_behind_live", rule: "ENDLIST is VoD, unless another server of the farm is live on that channel",
			farms: []string{"weight a:present,vod,w2 b:present"}, want: "b chosen", whys: "a=ended",
		},
		{
			name: "ended_alone", rule: "ENDLIST on a generic path is VoD",
			farms: []string{"weight a:present,vod,w2 b:absent"}, want: "a chosen",
		},
		{
			name: "ended_and_live_elsewhere", rule: "another server of the farm, not of another",
			farms: []string{"weight a:present,vod", "weight b:present"}, want: "a chosen",
		},
		{
			name: "ended_and_frozen", rule: "a frozen playlist is not live",
			farms: []string{"weight a:present,vod b:frozen100,w2"}, want: "a chosen", whys: "b=frozen",
		},
		{
			name: "ended_and_live_down", rule: "a server that is down is not live",
			farms: []string{"weight a:present,vod b:present,w2,down"}, want: "a chosen", whys: "b=down",
		},
		{
			name: "vod_asked_for", rule: "a VoD that was asked for has not ended",
			farms: []string{"weight a:present,vod,w2 b:present"}, kind: farms.KindVoD, want: "a chosen",
		},
		{
			name: "frozen_all", rule: "all holders frozen: the freshest",
			farms: []string{"weight a:frozen200,w2 b:frozen100 c:frozen300"}, want: "b frozen", whys: "a=frozen c=frozen",
		},
		{
			name: "frozen_all_across_farms", rule: "all holders frozen: the freshest",
			farms: []string{"weight a:frozen200", "weight b:frozen100"}, want: "b frozen", whys: "a=frozen",
		},
		{
			name: "frozen_behind_moving", rule: "frozen: last_resort",
			farms: []string{"weight a:frozen100,w2 b:present"}, want: "b chosen", whys: "a=frozen",
		},
		{
			name: "frozen_behind_later_farm", rule: "all holders frozen, not all of one farm",
			farms: []string{"weight a:frozen100", "weight b:present"}, want: "b chosen", whys: "a=frozen",
		},
		{
			name: "frozen_behind_last_resort", rule: "all holders frozen, not all but the last resort",
			farms: []string{"weight a:frozen100 b:present,last"}, want: "b chosen", whys: "a=frozen",
		},
		{
			name: "frozen_does_not_end_asking", rule: "all holders frozen: the others must have answered",
			farms: []string{"weight a:frozen100 b"}, ask: "b",
		},
		{
			name: "frozen_refused", rule: "frozen: refuse gives off_air",
			farms: []string{"weight a:frozen100 b:frozen200"}, rules: func(r *farms.Rules) { r.RefuseFrozen = true },
			opt: final, reason: farms.ReasonOffAir, whys: "a=frozen b=frozen",
		},
	}
}

func softGateRows() []row {
	return []row{
		{
			name: "warming", rule: "soft gate: warming up (nobody at second 0)",
			farms: []string{"weight a:present,w2,warm0 b:present"}, want: "b chosen", whys: "a=warming",
		},
		{
			name: "warming_alone", rule: "soft gates are ignored when nobody remains",
			farms: []string{"weight a:present,warm0 b:absent"}, want: "a chosen",
		},
		{
			name: "warming_over", rule: "warms up over slow_start_sec",
			farms: []string{"weight a:present,w2,warm30 b:present"}, want: "a chosen",
		},
		{
			name: "never_failed", rule: "a server that came back warms up; one that never failed does not",
			farms: []string{"weight a:present,w2 b:present"}, want: "a chosen",
		},
		{
			name: "warming_before_last_resort", rule: "a warming server comes before a last resort",
			farms: []string{"weight a:present,warm0 b:present,last,w2"}, want: "a chosen", whys: "b=last_resort",
		},
		{
			name: "warming_all", rule: "soft gates are ignored when nobody remains",
			farms: []string{"weight a:present,warm0 b:present,warm0,w2"}, want: "b chosen", whys: "a=warming",
		},
		{
			name: "over_bound", rule: "soft gate: over its bound",
			farms: []string{"weight/bound1.25 a:present,w2,load10 b:present"}, want: "b chosen", whys: "a=over_bound",
		},
		{
			name: "over_bound_last_resort", rule: "over its bound comes before a last resort",
			farms: []string{"weight/bound1.25 a:present,load10 b:absent c:present,last"}, want: "a chosen",
		},
		{
			name: "over_bound_prior", rule: "the bound is for sessions that start",
			farms: []string{"weight/bound1.25 a:present,w2,load10 b:present"}, prior: "a", want: "a chosen",
		},
		{
			name: "bound_off", rule: "bounded_load is off by default",
			farms: []string{"weight a:present,w2,load10 b:present"}, want: "a chosen",
		},
		{
			name: "avoided", rule: "return_evidence move: the next server",
			farms: []string{"weight a:present,w2 b:present"}, avoid: "a", want: "b chosen", whys: "a=avoided",
		},
		{
			name: "avoided_alone", rule: "soft: better the server the viewer came back from than none",
			farms: []string{"weight a:present b:absent"}, avoid: "a", want: "a chosen",
		},
		{
			name: "avoided_prior", rule: "return_evidence moves the session, sticky or not",
			farms: []string{"first_response a:present b:present"}, prior: "a", sticky: true, avoid: "a", want: "b chosen", whys: "a=avoided",
		},
		{
			name: "avoided_prior_last_answer", rule: "a session avoids its server in every class",
			farms: []string{"first_response a:guarded b:guarded"}, prior: "a", sticky: true, avoid: "a", want: "b guarded",
		},
		{
			name: "soft_and_absent", rule: "all said no: a soft gate does not hide the answer",
			farms: []string{"weight a:absent,warm0"}, opt: final, reason: farms.ReasonContentMissing, whys: "a=absent",
		},
		{
			name: "soft_and_unanswered", rule: "could not be asked: a soft gate does not hide it",
			farms: []string{"weight a b:absent"}, avoid: "a", opt: final, reason: farms.ReasonFarmDown, whys: "a=unanswered b=absent",
		},
		{
			name: "soft_and_trouble", rule: "could not be asked: a soft gate does not hide it",
			farms: []string{"weight a:trouble,warm0 b:absent"}, opt: final, reason: farms.ReasonFarmDown, whys: "a=trouble",
		},
		{
			name: "bound_and_unanswered", rule: "could not be asked: a soft gate does not hide it",
			farms: []string{"weight/bound1.25 a:load10 b:absent"}, opt: final, reason: farms.ReasonFarmDown, whys: "a=unanswered b=absent",
		},
		{
			name: "soft_and_guarded", rule: "only guarded servers: redirect and an alarm",
			farms: []string{"weight a:guarded,warm0"}, want: "a guarded",
		},
		{
			name: "last_resort", rule: "last_resort: only when nobody else is left",
			farms: []string{"weight a:present,w2,last b:present"}, want: "b chosen", whys: "a=last_resort",
		},
		{
			name: "last_resort_by_weight_0", rule: "weight 0: only when nobody else is left",
			farms: []string{"content_id a:present,w0 b:present"}, want: "b chosen", whys: "a=last_resort",
		},
		{
			name: "last_resort_behind_later_farm", rule: "nobody else is left, in any farm",
			farms: []string{"weight a:present,last", "weight b:present"}, want: "b chosen", whys: "a=last_resort",
		},
		{
			name: "last_resort_alone", rule: "weight 0 still serves when nobody else is left",
			farms: []string{"share a:present,w0 b:absent"}, want: "a chosen",
		},
		{
			name: "last_resort_prior_returns", rule: "a session on a last resort returns when a better one is usable",
			farms: []string{"first_response a:present,last b:present"}, prior: "a", sticky: true, want: "b chosen", whys: "a=last_resort",
		},
		{
			name: "last_resort_prior_kept", rule: "a session keeps its server while that is usable and in the best class",
			farms: []string{"first_response a:present,last b:present,last"}, prior: "b", sticky: true, want: "b kept", whys: "a=last_resort",
		},
		{
			name: "avoided_alone_in_its_farm", rule: "return_evidence: he gets the next server, of the next farm when there is no other",
			farms: []string{"weight a:present", "weight b:present"}, avoid: "a", want: "b chosen", whys: "a=avoided",
		},
		{
			name: "sticky_prior_grown_old", rule: "a session keeps its server: it is asked before the session moves",
			farms: []string{"first_response a:present b:old"}, prior: "b", sticky: true, want: "a chosen", ask: "b", refresh: "b",
		},
		{
			name: "frozen_refused_behind_unasked", rule: "a server that might have it could not be asked comes before off_air", opt: final,
			farms: []string{"weight a:frozen b"}, rules: func(r *farms.Rules) { r.RefuseFrozen = true }, reason: farms.ReasonFarmDown,
		},
		{
			name: "last_resort_is_not_asked", rule: "only when nobody else is left: nor asked before",
			farms: []string{"first_response a:last b", "first_response c:absent"}, ask: "b",
		},
		{
			name: "last_resort_is_asked_then", rule: "only when nobody else is left",
			farms: []string{"first_response a:last b:absent", "first_response c:absent"}, ask: "a",
		},
		{
			name: "family_v4_literal", rule: "a server that cannot be reached in the viewer's family: only when nobody else is left",
			farms: []string{"weight a:present,v4,w2 b:present"}, reach: farms.ReachV6, want: "b chosen", whys: "a=family",
		},
		{
			name: "family_v6_literal", rule: "a server that cannot be reached in the viewer's family: only when nobody else is left",
			farms: []string{"weight a:present,v6,w2 b:present"}, want: "b chosen", whys: "a=family",
		},
		{
			name: "family_same", rule: "a literal of the viewer's family is like any other",
			farms: []string{"weight a:present,v6,w2 b:present"}, reach: farms.ReachV6, want: "a chosen",
		},
		{
			name: "family_dns", rule: "reach by DNS",
			farms: []string{"weight a:present,dns4,w2 b:present,dns46"}, reach: farms.ReachV6, want: "b chosen", whys: "a=family",
		},
		{
			name: "family_dns_unknown", rule: "names not resolved yet count as both",
			farms: []string{"weight a:present,w2 b:present,dns46"}, reach: farms.ReachV6, want: "a chosen",
		},
		{
			name: "family_later_farm", rule: "nobody else is left, in any farm",
			farms: []string{"weight a:present,v4", "weight b:present"}, reach: farms.ReachV6, want: "b chosen", whys: "a=family",
		},
		{
			name: "family_nobody_else", rule: "used when nobody else is left",
			farms: []string{"weight a:present,v4", "weight b:absent"}, reach: farms.ReachV6, want: "a chosen",
		},
		{
			name: "family_behind_last_resort", rule: "out of reach comes behind everything",
			farms: []string{"weight a:present,v4 b:present,last"}, reach: farms.ReachV6, want: "b chosen", whys: "a=family",
		},
		{
			name: "family_behind_frozen", rule: "out of reach comes behind everything",
			farms: []string{"weight a:present,v4 b:frozen100"}, reach: farms.ReachV6, want: "b frozen", whys: "a=family",
		},
		{
			name: "family_when_frozen_is_refused", rule: "used when nobody else is left",
			farms: []string{"weight a:present,v4 b:frozen100"}, reach: farms.ReachV6,
			rules: func(r *farms.Rules) { r.RefuseFrozen = true }, want: "a chosen", whys: "b=frozen",
		},
		{
			name: "family_unanswered", rule: "explain does not change the reason",
			farms: []string{"weight a:v4 b:absent"}, reach: farms.ReachV6, opt: final, reason: farms.ReasonFarmDown, whys: "a=family",
		},
	}
}

func sessionRows() []row {
	return []row{
		{
			name: "sticky", rule: "under first_response a session keeps its server",
			farms: []string{"first_response a:present,rtt10 b:present,rtt900"}, prior: "b", sticky: true, want: "b kept", whys: "a=not_picked",
		},
		{
			name: "sticky_time_over", rule: "sticky_sec after its last request it may move",
			farms: []string{"first_response a:present,rtt10 b:present,rtt900"}, prior: "b", want: "a chosen",
		},
		{
			name: "sticky_worse_class", rule: "while it is in the best class",
			farms: []string{"first_response a:present,rtt10 b:guarded,rtt1"}, prior: "b", sticky: true, want: "a chosen",
		},
		{
			name: "sticky_absent", rule: "while it is usable",
			farms: []string{"first_response a:present,rtt900 b:absent,rtt1"}, prior: "b", sticky: true, want: "a chosen",
		},
		{
			name: "sticky_other_farm", rule: "the prior server when it is in the same farm",
			farms: []string{"first_response a:present", "first_response b:present"}, prior: "b", sticky: true, want: "a chosen",
		},
		{
			name: "sticky_warming", rule: "a slow start is for sessions that start",
			farms: []string{"first_response a:present b:present,warm0"}, prior: "b", sticky: true, want: "b kept",
		},
		{
			name: "sticky_is_not_for_share", rule: "share draws by session hash, without memory",
			farms: []string{"share a:present b:present"}, prior: "b", sticky: true, want: "a chosen",
		},
		{
			name: "sticky_is_not_for_weight", rule: "weight draws ties by session hash, without memory",
			farms: []string{"weight a:present b:present"}, prior: "b", sticky: true, want: "a chosen",
		},
		{
			name: "sticky_is_not_for_content_id", rule: "content_id ranks by the channel",
			farms: []string{"content_id a:present b:present"}, prior: "b", sticky: true, want: "a chosen",
		},
		{
			name: "child_prior", rule: "children go to the session's server, without a probe",
			farms: []string{"first_response a b"}, kind: farms.KindChild, prior: "b", want: "b kept",
		},
		{
			name: "child_prior_content_id", rule: "children go to the session's server, without a probe",
			farms: []string{"content_id a b"}, kind: farms.KindChild, prior: "b", want: "b kept",
		},
		{
			name: "child_prior_less_known", rule: "children go to the session's server: the others' segments are others",
			farms: []string{"share a:present b", "share c:present"}, kind: farms.KindChild, prior: "b", want: "b kept",
		},
		{
			name: "child_prior_later_farm", rule: "children go to the session's server, in whatever farm it is",
			farms: []string{"first_response a:present", "first_response b"}, kind: farms.KindChild, prior: "b", want: "b kept", whys: "a=not_needed",
		},
		{
			name: "child_prior_last_resort", rule: "children go to the session's server, last resort or not",
			farms: []string{"first_response a b:last"}, kind: farms.KindChild, prior: "b", want: "b kept",
		},
		{
			name: "child_prior_draining", rule: "draining, except sessions already there",
			farms: []string{"share a b:draining"}, kind: farms.KindChild, prior: "b", want: "b kept",
		},
		{
			name: "child_prior_down", rule: "else the channel's server",
			farms: []string{"share a b:down"}, kind: farms.KindChild, prior: "b", want: "a chosen", whys: "b=down",
		},
		{
			name: "child_prior_absent", rule: "else the channel's server",
			farms: []string{"share b:absent a"}, kind: farms.KindChild, prior: "b", want: "a chosen", whys: "b=absent",
		},
		{
			name: "child_prior_avoided", rule: "return_evidence is about multivariant playlists: children stay with theirs",
			farms: []string{"share a b"}, kind: farms.KindChild, prior: "b", avoid: "b", want: "b kept",
		},
		{
			name: "child_of_channel", rule: "children without a session go to the channel's server",
			farms: []string{"share b a"}, kind: farms.KindChild, want: "a chosen", whys: "b=not_picked",
		},
		{
			name: "child_of_channel_first_response", rule: "children without a session go to the channel's server, whatever the order of the file",
			farms: []string{"first_response c b a"}, kind: farms.KindChild, want: "a chosen",
		},
		{
			name: "child_known_holder", rule: "children go where the channel is known to be",
			farms: []string{"share a b:present c:guarded"}, kind: farms.KindChild, want: "b chosen",
		},
		{
			name: "child_frozen", rule: "a frozen holder comes last",
			farms: []string{"share a:frozen100 b"}, kind: farms.KindChild, want: "b chosen",
		},
		{
			name: "child_absent_past_its_age", rule: "a no is believed for its age; children are not asked for again",
			farms: []string{"share a:absentold b:absent"}, kind: farms.KindChild, want: "a chosen",
		},
		{
			name: "child_prior_absent_past_its_age", rule: "a no is believed for its age: the session's server",
			farms: []string{"share a b:absentold"}, kind: farms.KindChild, prior: "b", want: "b kept",
		},
		{
			name: "child_nobody", rule: "children are refused as everything else",
			farms: []string{"share a:absent b:absent"}, kind: farms.KindChild, opt: final, reason: farms.ReasonContentMissing,
		},
		{
			name: "assume", rule: "content assume asks nothing",
			farms: []string{"content_id/assume a b c"}, want: "a chosen",
		},
		{
			name: "assume_down", rule: "content assume still knows who is up",
			farms: []string{"content_id/assume a:down b c"}, want: "b chosen", whys: "a=down c=not_picked",
		},
		{
			name: "assume_after_farm", rule: "a CDN behind the operator's own servers",
			farms: []string{"first_response a:absent b:absent", "share/assume c d"}, want: "c chosen",
		},
		{
			name: "assume_waits_for_the_first_farm", rule: "the earlier farm first",
			farms: []string{"first_response a", "share/assume c d"}, ask: "a",
		},
	}
}

func ageRows() []row {
	return []row{
		{
			name: "fresh", rule: "believed while fresh",
			farms: []string{"weight a:present,w2 b:present"}, want: "a chosen",
		},
		{
			name: "past_its_age", rule: "past its age it serves while it is refreshed",
			farms: []string{"weight a:refresh,w2 b:present"}, want: "a chosen", refresh: "a",
		},
		{
			name: "past_its_age_not_the_chosen", rule: "ranked: what ranks behind the chosen is not refreshed",
			farms: []string{"content_id a:present b:refresh"}, want: "a chosen",
		},
		{
			name: "past_its_age_first_response", rule: "first_response: all that may serve are refreshed",
			farms: []string{"first_response a:refresh,rtt1 b:refresh,rtt90"}, want: "a chosen", refresh: "a b",
		},
		{
			name: "past_the_further_age", rule: "at most one further age, then it must be asked",
			farms: []string{"weight a:old"}, ask: "a", whys: "a=unanswered",
		},
		{
			name: "past_the_further_age_final", rule: "it had the content and cannot be asked now: stale",
			farms: []string{"weight a:old,w2 b:absent"}, opt: final, want: "a stale", refresh: "a",
		},
		{
			name: "past_stale_if_error", rule: "stale for stale_if_error_sec, not longer",
			farms: []string{"weight a:old,held601 b:absent"}, opt: final, reason: farms.ReasonFarmDown, whys: "a=unanswered",
		},
		{
			name: "absent_past_its_age", rule: "absent is believed for its age and asked again",
			farms: []string{"first_response a:absentold b:absent"}, ask: "a",
		},
		{
			name: "absent_past_its_age_ranked", rule: "a no that has grown old is refreshed without waiting when another serves",
			farms: []string{"content_id a:absentold b:present"}, want: "b chosen", refresh: "a", whys: "a=absent",
		},
		{
			name: "absent_past_its_age_first_response", rule: "a no that has grown old is refreshed without waiting when another serves",
			farms: []string{"first_response a:absentold b:present"}, want: "b chosen", refresh: "a",
		},
		{
			name: "guarded_past_its_age", rule: "guarded serves while it is refreshed",
			farms: []string{"weight a:guardedold"}, want: "a guarded", refresh: "a",
		},
		{
			name: "stale_in_an_earlier_farm", rule: "an earlier farm's trouble is looked at again, though a later one serves",
			farms: []string{"weight a:troubleold,held10 d:trouble,held10", "weight b:present"}, want: "b chosen", refresh: "a",
		},
		{
			name: "guarded_in_an_earlier_farm", rule: "so is what an earlier farm guards",
			farms: []string{"first_response a:guardedold", "first_response b:present c:refresh"}, want: "b chosen", refresh: "c a",
		},
		{
			name: "stale_in_a_later_farm", rule: "a later farm is not needed",
			farms: []string{"weight a:present", "weight b:troubleold,held10"}, want: "a chosen",
		},
		{
			name: "trouble_held", rule: "5xx and timeouts are never absent: stale when it had the content",
			farms: []string{"weight a:trouble,held599"}, want: "a stale",
		},
		{
			name: "trouble_held_long_ago", rule: "stale for stale_if_error_sec, not longer",
			farms: []string{"weight a:trouble,held601"}, opt: final, reason: farms.ReasonFarmDown, whys: "a=trouble",
		},
		{
			name: "trouble_never_held", rule: "asked a moment ago: not asked again, nobody to choose",
			farms: []string{"weight a:trouble"}, whys: "a=trouble",
		},
		{
			name: "trouble_past_its_age", rule: "asked again when its age is over",
			farms: []string{"weight a:troubleold"}, ask: "a",
		},
		{
			name: "trouble_frozen", rule: "stale and frozen: behind what is only stale",
			farms: []string{"weight a:frozen100,old,w2 b:trouble,held100"}, opt: final, want: "b stale", refresh: "a", whys: "a=stale",
		},
	}
}

func askRows() []row {
	widen := farms.Options{Widen: true}
	return []row{
		{
			name: "first_response_asks_all", rule: "first_response: all usable servers of the farm",
			farms: []string{"first_response a b:down c d:absent"}, ask: "a c",
		},
		{
			name: "first_response_one_good", rule: "first_response leaves with the first good answer; the others are asked without waiting",
			farms: []string{"first_response a b:present c"}, want: "b chosen", refresh: "a c",
		},
		{
			name: "first_response_guarded_waits", rule: "a guarded answer is no good answer yet",
			farms: []string{"first_response a:guarded b"}, ask: "b",
		},
		{
			name: "first_farm_first", rule: "asked first: the first farm",
			farms: []string{"first_response a", "first_response b:present"}, ask: "a",
		},
		{
			name: "first_farm_says_no", rule: "then the next farm",
			farms: []string{"first_response a:absent", "first_response b", "first_response c"}, ask: "b", askFarm: 1,
		},
		{
			name: "widen", rule: "then all the others at once",
			farms: []string{"first_response a:absent", "first_response b", "first_response c d:down e"}, opt: widen, ask: "b c e", askFarm: 1,
		},
		{
			name: "widen_confirmed", rule: "a confirmed server of a later farm is provisional while an earlier farm is asked",
			farms: []string{"first_response a", "first_response b:present"}, opt: widen, want: "b chosen", ask: "a",
		},
		{
			name: "final_asks_nobody", rule: "in the end with what is known",
			farms: []string{"first_response a", "first_response b:present"}, opt: final, want: "b chosen", whys: "a=not_needed",
		},
		{
			name: "ranked_asks_two", rule: "ranked: the best two of the rank",
			farms: []string{"content_id d c b a"}, ask: "a b",
		},
		{
			name: "ranked_asks_two_share", rule: "ranked: the best two of the rank",
			farms: []string{"share d c b a"}, ask: "a b",
		},
		{
			name: "ranked_asks_two_weight", rule: "ranked: the best two, by weight",
			farms: []string{"weight a b c:w3 d:w2"}, ask: "c d",
		},
		{
			name: "ranked_next_after_no", rule: "then the next as they say no",
			farms: []string{"content_id a:absent b c d"}, ask: "b c",
		},
		{
			name: "ranked_next_after_two_noes", rule: "then the next as they say no",
			farms: []string{"content_id a:absent b:trouble c d"}, ask: "c d",
		},
		{
			name: "ranked_down_is_not_asked", rule: "a server that is down costs no question",
			farms: []string{"content_id a:down b c d"}, ask: "b c",
		},
		{
			name: "ranked_anchor", rule: "a channel costs its anchor's probes: a confirmed anchor asks nobody else",
			farms: []string{"content_id a:present b c d"}, want: "a chosen", whys: "b=not_needed",
		},
		{
			name: "ranked_provisional", rule: "a better-ranked server that has not answered is waited for, for a while",
			farms: []string{"content_id a b:present c d"}, want: "b chosen", ask: "a",
		},
		{
			name: "ranked_provisional_two", rule: "a better-ranked server that has not answered is waited for, for a while",
			farms: []string{"content_id a b c:present d"}, want: "c chosen", ask: "a b",
		},
		{
			name: "ranked_provisional_final", rule: "in the end with what is known",
			farms: []string{"content_id a b:present c d"}, opt: final, want: "b chosen",
		},
		{
			name: "ranked_guarded_is_no_answer", rule: "guarded, stale and frozen servers: the next is asked instead",
			farms: []string{"content_id a:guarded b:frozen100 c d"}, ask: "c d",
		},
		{
			name: "ranked_guarded_in_the_end", rule: "all others said no",
			farms: []string{"content_id a:guarded b:absent c:absent"}, want: "a guarded",
		},
		{
			name: "ranked_soft_is_asked_last", rule: "a soft gate is behind the others of the rank",
			farms: []string{"content_id a:warm0 b c d"}, ask: "b c",
		},
		{
			name: "ranked_soft_confirmed", rule: "an open server before a warming one is waited for",
			farms: []string{"content_id a:present,warm0 b c:absent"}, want: "a chosen", ask: "b",
		},
		{
			name: "nobody_to_ask", rule: "all answered no: the caller refuses with Final",
			farms: []string{"content_id a:absent b:absent"},
		},
	}
}

func pickRows() []row {
	return []row{
		{name: "faster", rule: "the faster of two", farms: []string{"first_response a:present,rtt100 b:present,rtt20"}, want: "b chosen", whys: "a=not_picked"},
		{name: "faster_beats_weight", rule: "weight only among equals", farms: []string{"first_response a:present,rtt100 b:present,rtt130,w5"}, want: "a chosen"},
		{name: "alike_by_20_percent", rule: "within 20 % equal, then the higher weight", farms: []string{"first_response a:present,rtt100 b:present,rtt119,w2"}, want: "b chosen"},
		{name: "alike_by_5_ms", rule: "within 5 ms equal, then the higher weight", farms: []string{"first_response a:present,rtt4 b:present,rtt9,w2"}, want: "b chosen"},
		{name: "not_alike_by_6_ms", rule: "over 5 ms and 20 % the faster", farms: []string{"first_response a:present,rtt4 b:present,rtt10,w2"}, want: "a chosen"},
		{name: "unknown_time_is_alike", rule: "no time yet: the higher weight", farms: []string{"first_response a:present b:present,rtt10,w2"}, want: "b chosen"},
		{name: "weight", rule: "weight: the highest weight", farms: []string{"weight a:present b:present,w1.5 c:present"}, want: "b chosen"},
		{name: "weight_tie", rule: "weight: equal weights by session", farms: []string{"weight c:present b:present a:present"}, want: "a chosen"},
		{name: "content_id", rule: "content_id: rendezvous on the channel", farms: []string{"content_id d:present c:present b:present a:present"}, want: "a chosen"},
		{name: "content_id_next", rule: "removing one moves only its own", farms: []string{"content_id d:present c:present b:present a:down"}, want: "b chosen"},
		{name: "share", rule: "share: rendezvous on the session", farms: []string{"share d:present c:present b:present a:present"}, want: "a chosen"},
		{name: "same_server_in_two_farms", rule: "a weight belongs to the membership", farms: []string{"weight a:absent b:absent", "weight c:present d:present,w2", "weight d:w1 c:w9"}, want: "d chosen"},
	}
}

// refusalRows follow the order of "Answers when nobody is left".
func refusalRows() []row {
	return []row{
		{name: "timed_out", rule: "1: a server that might have it could not be asked", farms: []string{"weight a:absent,held100 b"}, opt: final, reason: farms.ReasonFarmDown, whys: "b=unanswered"},
		{name: "trouble", rule: "1: could not be asked", farms: []string{"weight a:absent b:trouble"}, opt: final, reason: farms.ReasonFarmDown},
		{name: "down_lately", rule: "1: down for less than off_air_sec", farms: []string{"weight a:absent b:down"}, opt: final, reason: farms.ReasonFarmDown},
		{name: "down_for_long", rule: "1: down for longer is as gone", farms: []string{"weight a:absent b:downlong"}, opt: final, reason: farms.ReasonContentMissing},
		{name: "down_for_long_and_held", rule: "1: known to have held it", farms: []string{"weight a:absent b:downlong,held5000"}, opt: final, reason: farms.ReasonFarmDown},
		{name: "down_before_busy", rule: "1 before 2", farms: []string{"weight a b:down"}, opt: busy, reason: farms.ReasonFarmDown},
		{name: "busy", rule: "2: the question budget was spent", farms: []string{"weight a b:absent"}, opt: busy, reason: farms.ReasonBusy},
		{name: "busy_before_off_air", rule: "2 before 3", farms: []string{"weight a b:absent,held100"}, opt: busy, reason: farms.ReasonBusy},
		{name: "off_air", rule: "3: seen somewhere within off_air_sec", farms: []string{"weight a:absent,held599 b:absent"}, opt: final, reason: farms.ReasonOffAir},
		{name: "off_air_other_farm", rule: "3: seen somewhere", farms: []string{"weight a:absent", "weight b:absent,held10"}, opt: final, reason: farms.ReasonOffAir},
		{name: "off_air_with_long_down", rule: "3 when 1 does not hold", farms: []string{"weight a:absent,held100 b:downlong"}, opt: final, reason: farms.ReasonOffAir},
		{name: "missing", rule: "4: all said no", farms: []string{"weight a:absent b:absent", "weight c:absent"}, opt: final, reason: farms.ReasonContentMissing},
		{name: "missing_seen_long_ago", rule: "4: seen longer ago than off_air_sec", farms: []string{"weight a:absent,held601"}, opt: final, reason: farms.ReasonContentMissing},
		{name: "missing_in_a_last_resort_too", rule: "4: all said no", farms: []string{"weight a:absent b:absent,last"}, opt: final, reason: farms.ReasonContentMissing},
		{name: "nobody_is_enabled", rule: "nobody said no: nobody could be asked", farms: []string{"weight a:disabled b:draining"}, opt: final, reason: farms.ReasonFarmDown},
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for group, rows := range map[string][]row{
		"hard_gate": hardGateRows(), "class": classRows(), "soft_gate": softGateRows(), "session": sessionRows(),
		"age": ageRows(), "ask": askRows(), "pick": pickRows(), "refusal": refusalRows(),
	} {
		for _, r := range rows {
			t.Run(group+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				r.check(t)
			})
		}
	}
}

func (r *row) check(t *testing.T) {
	t.Helper()
	s := newScene(t, r.farms...)
	if r.rules != nil {
		r.rules(&s.rules)
	}
	s.world.Overrides = r.overrides
	q := query()
	q.Prior, q.Avoid, q.Sticky, q.Secure, q.Content.Kind = s.id(t, r.prior), s.id(t, r.avoid), r.sticky, r.secure, r.kind
	if r.reach != farms.ReachUnknown {
		q.Reach = r.reach
	}
	var scratch, all farms.Scratch
	got := s.choose(&q, r.opt, &scratch)
	every := r.opt
	every.Every = true
	explained := s.choose(&q, every, &all)

	for how, c := range map[string]farms.Choice{"": got, " (judging every farm)": explained} {
		want, wantWhy, _ := strings.Cut(r.want, " ")
		switch {
		case r.want == "" && (c.Chosen != nil || c.Reason != r.reason):
			t.Errorf("%s%s: %s with reason %s, expected nobody with reason %s", r.rule, how, nameOf(c.Chosen), c.Reason, r.reason)
		case r.want != "" && nameOf(c.Chosen) != want:
			t.Errorf("%s%s: %s with reason %s, expected %s", r.rule, how, nameOf(c.Chosen), c.Reason, want)
		case r.want != "" && (c.Chosen.Why.String() != wantWhy || c.Reason != farms.ReasonOK):
			t.Errorf("%s%s: %s is %s with reason %s, expected %s with reason ok", r.rule, how, want, c.Chosen.Why, c.Reason, wantWhy)
		}
		if asked := names(c.Ask); asked != r.ask || c.AskFarm != r.askFarm {
			t.Errorf("%s%s: asks %q of farm %d, expected %q of farm %d", r.rule, how, asked, c.AskFarm, r.ask, r.askFarm)
		}
		if refreshed := names(c.Refresh); refreshed != r.refresh {
			t.Errorf("%s%s: refreshes %q, expected %q", r.rule, how, refreshed, r.refresh)
		}
	}
	for _, pair := range strings.Fields(r.whys) {
		name, why, _ := strings.Cut(pair, "=")
		i := slices.IndexFunc(all.Candidates, func(c farms.Candidate) bool { return c.Member.Server.Name == name })
		if i < 0 || all.Candidates[i].Why.String() != why {
			t.Errorf("%s: explain says %s, expected %s", r.rule, whysOf(&all), pair)
		}
	}
}

func whysOf(s *farms.Scratch) string {
	var list []string
	for _, c := range s.Candidates {
		list = append(list, c.Member.Server.Name+"="+c.Why.String())
	}
	return strings.Join(list, " ")
}

// TestChooseCounts holds what a door needs to spread a crowd on a cold channel:
// how many were as good, and how many have not answered.
func TestChooseCounts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		farm       string
		good, open int
	}{
		{"first_response a:present b c", 1, 2},
		{"first_response a:present b:present c:absent d", 2, 1},
		{"first_response a:present b:present,warm0 c:guarded", 1, 0},
		{"content_id a:present b:present", 2, 0},
		{"content_id a b:present c", 1, 2},
	} {
		s := newScene(t, tc.farm)
		q := query()
		var scratch farms.Scratch
		if c := s.choose(&q, farms.Options{}, &scratch); c.Good != tc.good || c.Open != tc.open {
			t.Errorf("%s: good %d open %d, expected %d and %d", tc.farm, c.Good, c.Open, tc.good, tc.open)
		}
	}
}

// TestChooseWithNothingKnown holds that a world without any fact is asked and,
// when there is no time for that, refused.
func TestChooseWithNothingKnown(t *testing.T) {
	t.Parallel()
	s := newScene(t, "first_response a b")
	s.fake = fakeWorld{}
	s.world.Loads = nil
	q := query()
	var scratch farms.Scratch
	if c := s.choose(&q, farms.Options{}, &scratch); c.Chosen != nil || names(c.Ask) != "a b" {
		t.Errorf("%s is chosen and %q are asked, expected nobody and a b", nameOf(c.Chosen), names(c.Ask))
	}
	if c := s.choose(&q, final, &scratch); c.Chosen != nil || c.Reason != farms.ReasonFarmDown {
		t.Errorf("%s is chosen with reason %s, expected nobody with farm_down", nameOf(c.Chosen), c.Reason)
	}
	if c := farms.Choose(nil, &q, &s.world, &s.rules, final, &scratch); c.Chosen != nil || c.Reason != farms.ReasonFarmDown {
		t.Errorf("no farms: %s is chosen with reason %s, expected nobody with farm_down", nameOf(c.Chosen), c.Reason)
	}
}

// TestChooseKeepsNoMemory holds that a used scratch decides as a new one.
func TestChooseKeepsNoMemory(t *testing.T) {
	t.Parallel()
	var used farms.Scratch
	for _, r := range slices.Concat(hardGateRows(), classRows(), softGateRows(), sessionRows(), ageRows(), askRows(), pickRows(), refusalRows()) {
		s := newScene(t, r.farms...)
		s.world.Overrides = r.overrides
		q := query()
		q.Prior, q.Sticky, q.Content.Kind = s.id(t, r.prior), r.sticky, r.kind
		var fresh farms.Scratch
		a, b := s.choose(&q, r.opt, &used), s.choose(&q, r.opt, &fresh)
		if nameOf(a.Chosen) != nameOf(b.Chosen) || a.Reason != b.Reason || names(a.Ask) != names(b.Ask) || names(a.Refresh) != names(b.Refresh) || whysOf(&used) != whysOf(&fresh) {
			t.Errorf("%s: with a used scratch %s %s, with a new one %s %s", r.name, nameOf(a.Chosen), whysOf(&used), nameOf(b.Chosen), whysOf(&fresh))
		}
	}
}
