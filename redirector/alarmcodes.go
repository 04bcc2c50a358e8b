package redirector

// Alarm is a code of the closed set of alarms.
type Alarm uint8

// The alarms. Their codes are an interface: append, never rename.
const (
	AlarmObserverIsolated  Alarm = iota // all servers stopped answering at once: it may be us
	AlarmConfigRefused                  // the newest configuration was refused, the one before is in force
	AlarmOnlyGuarded                    // viewers are sent to servers that answer 401 or 403 to our probes
	AlarmOnlyFrozen                     // every server's playlist of a channel stands still
	AlarmStateDir                       // state_dir cannot be written or read
	AlarmServerDown                     // a server's status probes fail
	AlarmFarmDegraded                   // less than half of a farm's weight takes viewers
	AlarmFarmDown                       // no server of a farm takes viewers
	AlarmConfigTooOld                   // no configuration was loaded for longer than alarms.config_max_age_sec
	AdviceTrustedProxies                // most requests come through a proxy that core.trusted_proxies does not name
	AdviceSessionKey                    // one session stands for many viewers
	AdviceProbeCredentials              // servers answer nothing but 401 and 403 to our probes
	alarmCount
)

// Severity is how much an alarm hurts.
type Severity uint8

// The severities.
const (
	SeverityInfo     Severity = iota // an advice
	SeverityWarning                  // something is lost, viewers are still served
	SeverityCritical                 // viewers have nothing to see, or soon will not
)

var severityNames = [...]string{"info", "warning", "critical"}

// String returns the severity's word.
func (s Severity) String() string { return severityNames[s] }

var alarmTable = [alarmCount]struct {
	code     string
	severity Severity
}{
	AlarmObserverIsolated:  {"observer_isolated", SeverityCritical},
	AlarmConfigRefused:     {"config_refused", SeverityWarning},
	AlarmOnlyGuarded:       {"only_guarded", SeverityWarning},
	AlarmOnlyFrozen:        {"only_frozen", SeverityCritical},
	AlarmStateDir:          {"state_dir", SeverityWarning},
	AlarmServerDown:        {"server_down", SeverityWarning},
	AlarmFarmDegraded:      {"farm_degraded", SeverityWarning},
	AlarmFarmDown:          {"farm_down", SeverityCritical},
	AlarmConfigTooOld:      {"config_too_old", SeverityWarning},
	AdviceTrustedProxies:   {"advice_trusted_proxies", SeverityInfo},
	AdviceSessionKey:       {"advice_session_key", SeverityInfo},
	AdviceProbeCredentials: {"advice_probe_credentials", SeverityInfo},
}

// AlarmCodes lists the codes of all alarms.
func AlarmCodes() []string {
	out := make([]string, 0, alarmCount)
	for _, row := range alarmTable {
		out = append(out, row.code)
	}
	return out
}

// String returns the alarm's code.
func (a Alarm) String() string { return alarmTable[a].code }

// Severity returns how much the alarm hurts.
func (a Alarm) Severity() Severity { return alarmTable[a].severity }
