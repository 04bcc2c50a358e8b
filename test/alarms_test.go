package test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// Servers of a farm die one after the other and come back: each step is an alarm
// on /status, in the metrics, in the log and at the webhook.
func TestAlarmsOfAFarm(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	servers := liveServers(t, "edge", 3)
	c := with(scene(farmOf("main", "share", servers)), "redirection", fastStatus())
	c["alarms"] = alarming(t, h.url())
	p := rig.Start(t, c)
	if s := p.Status(); len(s.Alarms) > 0 || s.Advices == nil {
		t.Errorf("before anything is wrong: %+v", s)
	}
	servers[0].Stop()
	waitAlarm(t, p, 5*time.Second, "server_down", "edge0", true)
	a := p.Status().Alarms[0]
	if a.Severity != "warning" || !strings.Contains(a.Detail, "refused") || time.Since(a.Since) > 10*time.Second || a.ID == "" {
		t.Errorf("%+v", a)
	}
	if got := alarmGauge(p, "server_down"); got != 1 {
		t.Errorf("the gauge is %v", got)
	}
	servers[1].Stop()
	waitAlarm(t, p, 5*time.Second, "farm_degraded", "main", true)
	servers[2].Stop()
	waitAlarm(t, p, 5*time.Second, "farm_down", "main", true)
	waitAlarm(t, p, 5*time.Second, "farm_degraded", "main", false)
	if worst := p.Status().Alarms[0]; worst.Code != "farm_down" || worst.Severity != "critical" {
		t.Errorf("the first alarm is %+v, expected the worst", worst)
	}
	if page := p.Operator("GET", "/status", "", "Accept", "text/html").Body; !strings.Contains(page, "farm_down main") {
		t.Error("the page has no alarm farm_down main")
	}
	for _, o := range servers {
		o.Start()
	}
	rig.Eventually(t, 10*time.Second, func() error {
		if s := p.Status(); len(s.Alarms) > 0 {
			return fmt.Errorf("%+v", s.Alarms)
		}
		return nil
	})
	for _, code := range []string{"server_down", "farm_degraded", "farm_down"} {
		if got := alarmGauge(p, code); got != 0 {
			t.Errorf("the gauge of %s is %v", code, got)
		}
	}
	if n := alarmLines(p, "server_down"); n != 3 {
		t.Errorf("%d lines of server_down, expected 3", n)
	}
	all := h.takes(5*time.Second, 10)
	words := map[string]int{}
	open := map[string]told{}
	for _, a := range all {
		words[a.String()]++
		before, known := open[a.ID]
		switch {
		case a.State == "on" && !known && a.Until.IsZero():
			open[a.ID] = a
		case a.State == "off" && known && a.Since.Equal(before.Since) && a.Until.After(a.Since):
			delete(open, a.ID)
		default:
			t.Errorf("%+v after %+v", a, before)
		}
	}
	for _, word := range []string{
		"server_down edge0 warning", "server_down edge1 warning", "server_down edge2 warning", "farm_down main critical",
	} {
		if words[word+" on"] != 1 || words[word+" off"] != 1 {
			t.Errorf("%s: %v, expected on and off once", word, words)
		}
	}
	if len(open) > 0 || len(h.unknown) > 0 {
		t.Errorf("left on: %v; not signed by us: %v", open, h.unknown)
	}
	if head := h.heads[0]; head.Get("Content-Type") != "application/json" || !strings.HasPrefix(head.Get("User-Agent"), "pointsman/") {
		t.Errorf("%v", head)
	}
}

// A receiver that hangs, answers 500 or is not there delays nothing; the alarm
// arrives once after it recovers.
func TestAlarmsReceiverInTrouble(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		wrong  func(h *hook)
		result string
	}{
		{"hangs", (*hook).hangs, "timeout"},
		{"500", func(h *hook) { h.answers(500) }, "refused"},
		{"404", func(h *hook) { h.answers(404) }, "refused"},
		{"breaks_off", func(h *hook) {
			h.does(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
		}, "error"},
		{"endless_head", func(h *hook) {
			h.does(func(rw http.ResponseWriter, _ *http.Request) bool {
				conn, _, err := rw.(http.Hijacker).Hijack()
				if err != nil {
					return false
				}
				defer conn.Close()
				_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
				for err == nil {
					_, err = io.WriteString(conn, "X-Filler: "+strings.Repeat("x", 1000)+"\r\n")
				}
				return false
			})
		}, "error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, well := newHook(t), newHook(t)
			c.wrong(h)
			servers := liveServers(t, "edge", 3)
			doc := with(scene(farmOf("main", "share", servers)), "redirection", fastStatus())
			doc["alarms"] = alarming(t, h.url(), well.url())
			p := rig.Start(t, doc)
			idle := p.Footprint()
			servers[0].Stop()
			killed := time.Now()
			wantsTold(t, well.takes(5*time.Second, 1), "server_down edge0 warning on")
			if took := time.Since(killed); took > 4*time.Second {
				t.Errorf("the other hook was told after %v", took)
			}
			h.tried(10*time.Second, 2)
			answers := p.Load(t.Context(), rig.Load{Connections: 8, Count: 400, PerSecond: 200}, func(i int) rig.Ask { return viewer("ch", i) })
			allRedirected(t, "meanwhile", answers, servers[1:])
			asked := time.Now()
			if s := p.Status(); !s.Alarm("server_down") || time.Since(asked) > time.Second {
				t.Errorf("/status after %v: %+v", time.Since(asked), s.Alarms)
			}
			if n, _ := p.Metric(fmt.Sprintf(`pointsman_webhook_deliveries_total{result=%q,webhook=%q}`, c.result, h.addr)); n == 0 {
				t.Errorf("no delivery is counted as %s", c.result)
			}
			if n, _ := p.Metric(fmt.Sprintf(`pointsman_webhook_waiting_alarms{webhook=%q}`, h.addr)); n != 1 {
				t.Errorf("%v alarms wait, expected 1", n)
			}
			h.answers(200)
			wantsTold(t, h.takes(20*time.Second, 1), "server_down edge0 warning on")
			servers[0].Start()
			wantsTold(t, h.takes(10*time.Second, 2), "server_down edge0 warning on", "server_down edge0 warning off")
			wantsTold(t, well.takes(5*time.Second, 2), "server_down edge0 warning on", "server_down edge0 warning off")
			if n, _ := p.Metric(fmt.Sprintf(`pointsman_webhook_waiting_alarms{webhook=%q}`, h.addr)); n != 0 {
				t.Errorf("%v alarms wait", n)
			}
			p.Settles(10*time.Second, idle)
		})
	}
}

// An alarm that comes and goes while the receiver is not there is told once, and
// as what it was.
func TestAlarmsCameAndWent(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.answers(503)
	servers := liveServers(t, "edge", 3)
	c := with(scene(farmOf("main", "share", servers)), "redirection", fastStatus())
	c["alarms"] = alarming(t, h.url())
	p := rig.Start(t, c)
	servers[0].Stop()
	waitAlarm(t, p, 5*time.Second, "server_down", "edge0", true)
	servers[0].Start()
	waitAlarm(t, p, 5*time.Second, "server_down", "edge0", false)
	h.tried(5*time.Second, 2)
	h.answers(200)
	got := h.takes(20*time.Second, 1)
	wantsTold(t, got, "server_down edge0 warning off")
	if a := got[0]; !a.Until.After(a.Since) || a.Until.Sub(a.Since) > 10*time.Second {
		t.Errorf("%+v", a)
	}
	servers[0].Stop() // and whatever comes after it
	wantsTold(t, h.takes(10*time.Second, 2), "server_down edge0 warning off", "server_down edge0 warning on")
}

// A receiver that redirects is not followed, and one whose answer never ends has
// taken the alarm.
func TestAlarmsStrangeReceivers(t *testing.T) {
	t.Parallel()
	redirects, target, endless := newHook(t), newHook(t), newHook(t)
	redirects.does(func(rw http.ResponseWriter, r *http.Request) bool {
		http.Redirect(rw, r, target.url(), http.StatusPermanentRedirect)
		return false
	})
	endless.does(func(rw http.ResponseWriter, _ *http.Request) bool {
		block := make([]byte, 64<<10)
		for {
			if _, err := rw.Write(block); err != nil {
				return true
			}
		}
	})
	servers := liveServers(t, "edge", 2)
	c := with(scene(farmOf("main", "share", servers)), "redirection", fastStatus())
	c["alarms"] = alarming(t, redirects.url(), endless.url())
	p := rig.Start(t, c)
	servers[0].Stop()
	wantsTold(t, endless.takes(10*time.Second, 1), "server_down edge0 warning on")
	redirects.tried(10*time.Second, 3)
	if target.tries > 0 || redirects.tries == 0 || endless.tries != 1 {
		t.Errorf("%d, %d and %d attempts", target.tries, redirects.tries, endless.tries)
	}
	p.WaitLog(time.Second, "webhook takes no alarms; they wait", 0)
	for _, line := range p.Log() {
		if text := fmt.Sprint(line); strings.Contains(text, "room=ops") || strings.Contains(text, hookSecret) {
			t.Errorf("the log shows what may be secret: %v", line)
		}
	}
}

// Reloads of the section take effect and lose nothing.
func TestAlarmsReload(t *testing.T) {
	t.Parallel()
	wrong, right, late := newHook(t), newHook(t), newHook(t)
	wrong.answers(500)
	servers := liveServers(t, "edge", 3)
	c := with(scene(farmOf("main", "share", servers)), "redirection", fastStatus())
	c["alarms"] = alarming(t, wrong.url())
	p := rig.Start(t, c)
	reload := func() {
		t.Helper()
		from := len(p.Log())
		p.Write(c)
		p.Signal(syscall.SIGHUP)
		p.WaitLog(5*time.Second, "configuration loaded", from)
	}
	servers[0].Stop()
	waitAlarm(t, p, 5*time.Second, "server_down", "edge0", true)
	servers[0].Start()
	waitAlarm(t, p, 5*time.Second, "server_down", "edge0", false)
	servers[1].Stop()
	waitAlarm(t, p, 5*time.Second, "server_down", "edge1", true)
	wrong.tried(10*time.Second, 3)

	c["alarms"] = alarming(t, right.url(), late.url()) // the URL was wrong; and there is one more
	reload()
	wantsTold(t, right.takes(5*time.Second, 2), "server_down edge0 warning off", "server_down edge1 warning on")
	wantsTold(t, late.takes(5*time.Second, 1), "server_down edge1 warning on")
	if n, series := p.Metric(`pointsman_webhook_waiting_alarms{`); n != 0 || series != 2 {
		t.Errorf("%v alarms wait in %d series, expected none in 2", n, series)
	}

	c["alarms"].(rig.Config)["webhooks"].([]any)[0].(rig.Config)["send_resolved"] = false
	c["alarms"].(rig.Config)["webhooks"].([]any)[1].(rig.Config)["min_severity"] = "critical"
	reload()
	servers[1].Start()
	waitState(t, p, 5*time.Second, "warming", servers[1]) // else the farm is degraded for a moment
	servers[2].Stop()
	right.takes(10*time.Second, 3)
	wantsTold(t, late.takes(10*time.Second, 2), "server_down edge1 warning on", "server_down edge1 warning off") // it knew of that one
	waitAlarm(t, p, 5*time.Second, "server_down", "edge1", false)
	wantsTold(t, right.takes(0, 3), "server_down edge0 warning off", "server_down edge1 warning on", "server_down edge2 warning on")

	delete(c["alarms"].(rig.Config), "webhooks")
	reload()
	if _, series := p.Metric(`pointsman_webhook_`); series != 0 {
		t.Errorf("%d series of webhooks that are gone", series)
	}
}

// A refused configuration and one that was not loaded for too long.
func TestAlarmsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	c := scene(farmOf("main", "share", liveServers(t, "edge", 2)))
	c["alarms"] = alarming(t, h.url())
	c["alarms"].(rig.Config)["config_max_age_sec"] = 2
	p := rig.Start(t, c)
	waitAlarm(t, p, 6*time.Second, "config_too_old", "", true)
	if err := os.WriteFile(p.File, []byte(`{"core": {"prot": 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGHUP)
	waitAlarm(t, p, 5*time.Second, "config_refused", "", true)
	c["alarms"].(rig.Config)["config_max_age_sec"] = 3600
	p.Write(c)
	p.Signal(syscall.SIGHUP)
	waitAlarm(t, p, 5*time.Second, "config_refused", "", false)
	waitAlarm(t, p, 5*time.Second, "config_too_old", "", false)
	got := h.takes(5*time.Second, 4)
	wantsTold(t, got, "config_too_old warning on", "config_refused warning on", "config_refused warning off", "config_too_old warning off")
	if !strings.Contains(got[1].Detail, "prot: unknown key") || !strings.Contains(got[0].Detail, "more than 2s ago") {
		t.Errorf("%+v", got)
	}
}

// A frozen channel is an alarm whether its viewers are sent on or refused.
func TestAlarmsFrozenEverywhere(t *testing.T) {
	t.Parallel()
	for _, frozen := range []string{"last_resort", "refuse"} {
		t.Run(frozen, func(t *testing.T) {
			t.Parallel()
			h := newHook(t)
			servers := liveServers(t, "edge", 2)
			for _, o := range servers {
				o.Set("still", rig.Frozen)
			}
			c := with(scene(farmOf("main", "share", servers)), "redirection", fastStatus())
			c["alarms"] = alarming(t, h.url())
			with(c, "probe", rig.Config{"frozen": frozen})
			p := rig.Start(t, c)
			rig.Eventually(t, 40*time.Second, func() error {
				p.Get("/still/index.m3u8")
				p.Get("/moves/index.m3u8")
				if !p.Status().Alarm("only_frozen") {
					return fmt.Errorf("no alarm")
				}
				return nil
			})
			got := h.takes(5*time.Second, 1)
			wantsTold(t, got, "only_frozen critical on")
			if !strings.Contains(got[0].Detail, "/still/index.m3u8") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// advice waits for an advice and returns it.
func advice(t *testing.T, p *rig.Pointsman, code string) (detail, config string) {
	t.Helper()
	rig.Eventually(t, 10*time.Second, func() error {
		s := p.Status()
		for _, a := range s.Advices {
			if a.Code == code {
				detail, config = a.Detail, a.Config
				if !s.Alarm(code) {
					return fmt.Errorf("an advice and no alarm: %+v", s.Alarms)
				}
				return nil
			}
		}
		return fmt.Errorf("no advice %s in %+v", code, s.Advices)
	})
	return detail, config
}

// A proxy that nobody told us of: an advice with the line that mends it, and once
// it is mended no advice.
func TestAdviceOfAnUnknownProxy(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	servers := liveServers(t, "edge", 2)
	c := scene(farmOf("main", "share", servers))
	c["alarms"] = alarming(t, h.url())
	c["alarms"].(rig.Config)["webhooks"].([]any)[0].(rig.Config)["min_severity"] = "info"
	p := rig.Start(t, c)
	crowd := func() {
		for i := range 120 {
			if res := p.Get("/ch/index.m3u8", "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i)); res.StatusCode != 302 {
				t.Fatal(res.Response)
			}
		}
	}
	crowd()
	_, config := advice(t, p, "advice_trusted_proxies")
	if config != `"core": { "trusted_proxies": ["127.0.0.1"] }` {
		t.Errorf("config %s", config)
	}
	if page := p.Operator("GET", "/status", "", "Accept", "text/html").Body; !strings.Contains(page, "trusted_proxies") {
		t.Error("the page does not show it")
	}
	if a := h.takes(5*time.Second, 1)[0]; a.String() != "advice_trusted_proxies info on" || a.Config != config {
		t.Errorf("%+v", a)
	}
	with(c, "core", trusting())
	p.Write(c)
	p.Signal(syscall.SIGHUP)
	waitAlarm(t, p, 10*time.Second, "advice_trusted_proxies", "", false)
	crowd()
	if s := p.Status(); len(s.Advices) > 0 {
		t.Errorf("%+v", s.Advices)
	}
}

// One session for many viewers.
func TestAdviceOfASharedSession(t *testing.T) {
	t.Parallel()
	servers := liveServers(t, "edge", 3)
	c := scene(farmOf("main", "share", servers))
	c["alarms"] = alarming(t)
	p := rig.Start(t, c)
	answers := p.Load(t.Context(), rig.Load{Connections: 8, Count: 2000, PerSecond: 1000}, func(i int) rig.Ask {
		if i%10 == 0 { // the app sends one token for all of its viewers
			return rig.Ask{Target: fmt.Sprintf("/sports/index.m3u8?token=app&device=d%d", i)}
		}
		return viewer("sports", i)
	})
	allRedirected(t, "a crowd", answers, servers)
	detail, config := advice(t, p, "advice_session_key")
	if config != `"redirection": { "session_key": ["device"] }` || !strings.Contains(detail, "the session_key token") || !strings.Contains(detail, "channel sports") {
		t.Errorf("%s: %s", detail, config)
	}
}

// Servers that answer 403 to every probe want a token, with which the advice goes.
func TestAdviceOfServersThatGuard(t *testing.T) {
	t.Parallel()
	servers := liveServers(t, "edge", 2)
	servers[1].SetRest(rig.Guarded)
	c := with(scene(farmOf("main", "share", servers)), "redirection", fastStatus())
	c["alarms"] = alarming(t)
	p := rig.Start(t, c)
	for i := range 6 {
		p.Get(fmt.Sprintf("/ch%d/index.m3u8", i))
	}
	detail, config := advice(t, p, "advice_probe_credentials")
	if !strings.Contains(detail, ": edge1.") || !strings.Contains(config, `"probe_headers"`) {
		t.Errorf("%s: %s", detail, config)
	}
	list := c["redirection"].(rig.Config)["farms"].([]any)[0].(rig.Config)["servers"].([]any)
	list[1].(rig.Config)["probe_headers"] = rig.Config{"Authorization": "Bearer probe"}
	servers[1].SetRest(rig.Live)
	p.Write(c)
	p.Signal(syscall.SIGHUP)
	waitAlarm(t, p, 10*time.Second, "advice_probe_credentials", "", false)
}

// Whatever comes from outside, no series of metrics is new.
func TestAlarmSeriesAreClosed(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	servers := liveServers(t, "edge", 2)
	c := with(scene(farmOf("main", "share", servers)), "redirection", fastStatus())
	c["alarms"] = alarming(t, h.url())
	p := rig.Start(t, c)
	p.Get("/ch/index.m3u8")
	before := p.Series()
	servers[0].Stop()
	for i := range 500 {
		p.Get(fmt.Sprintf("/ch%d/index.m3u8?token=%d&p%d=1", i%7, i%3, i), "X-Forwarded-For", fmt.Sprintf("10.0.0.%d", i%250))
	}
	h.takes(10*time.Second, 1)
	var fresh []string
	for name := range p.Series() {
		if !before[name] && strings.Contains(name, "alarm") || !before[name] && strings.Contains(name, "webhook") {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	if len(fresh) > 0 {
		t.Errorf("new series %v", fresh)
	}
}
