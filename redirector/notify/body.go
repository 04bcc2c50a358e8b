package notify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// bodyVersion is the version of the message's form: names are added within one,
// never renamed.
const bodyVersion = 1

// body is a message.
type body struct {
	Version  int         `json:"version"`
	Instance string      `json:"instance"`
	Started  time.Time   `json:"started"`
	Sent     time.Time   `json:"sent"`
	Alarms   []bodyAlarm `json:"alarms"`
}

type bodyAlarm struct {
	ID       string     `json:"id"`
	Code     string     `json:"code"`
	Subject  string     `json:"subject"`
	Severity string     `json:"severity"`
	State    string     `json:"state"` // on, off
	Since    time.Time  `json:"since"`
	Until    *time.Time `json:"until,omitempty"` // of one that is off
	Detail   string     `json:"detail"`
	Config   string     `json:"config,omitempty"`
}

// encode writes a message.
func encode(instance string, started, now time.Time, batch []item) []byte {
	out := body{Version: bodyVersion, Instance: instance, Started: stamp(started), Sent: stamp(now), Alarms: make([]bodyAlarm, 0, len(batch))}
	for i := range batch {
		a := &batch[i].alarm
		b := bodyAlarm{ID: a.ID, Code: a.Code, Subject: a.Subject, Severity: a.Severity, State: "on", Since: stamp(a.Since), Detail: a.Detail, Config: a.Config}
		if a.over() {
			until := stamp(a.Until)
			b.State, b.Until = "off", &until
		}
		out.Alarms = append(out.Alarms, b)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(out) // strings and times of this age always encode
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// stamp leaves the milliseconds, as in the log.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Sign returns the signature of a message: "sha256=" and in hexadecimal the
// HMAC-SHA256 of its timestamp, a full stop and its body. The timestamp is in it
// so that a receiver can refuse an old message that somebody sends again.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
