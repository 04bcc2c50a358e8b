package steering

import (
	"strconv"
	"strings"
	"testing"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// clip shortens a query for a message.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

func TestForeign(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, query, want string }{
		{"nothing", "", ""},
		{"all_foreign", "a=1&b=~%2F=/&c", "a=1&b=~%2F=/&c"},
		{"all_ours", "_HLS_pathway=a&_HLS_throughput=5&_DASH_pathway=b&_DASH_throughput=5&CMCD=x&pm_sid=t", ""},
		{"report_last", "a=1&b=2&_HLS_pathway=a&_HLS_throughput=5", "a=1&b=2"},
		{"session_first", "pm_sid=t&a=1&b=2", "a=1&b=2"},
		{"session_first_report_last", "pm_sid=t&a=1&b=2&_DASH_pathway=%22a%22", "a=1&b=2"},
		{"ours_between", "a=1&pm_sid=t&b=2&_HLS_pathway=x&c=3", "a=1&b=2&c=3"},
		{"escaped_names", "a=1&%5fHLS_pathway=x&pm%5Fsid=t&%43MCD=y&_%44ASH_x=1&b=2", "a=1&b=2"},
		{"reserved_names", "_HLS_msn=4&_HLS_=1&_DASH_x&a", "a"},
		{"other_case_is_foreign", "_hls_pathway=a&cmcd=1&PM_SID=t", "_hls_pathway=a&cmcd=1&PM_SID=t"},
		{"longer_and_shorter", "pm_sid2=a&pm_si=b&CMCDX=c&_HLS=d&x_HLS_=e&%2543MCD=f", "pm_sid2=a&pm_si=b&CMCDX=c&_HLS=d&x_HLS_=e&%2543MCD=f"},
		{"long_escaped_name", "%70m_sid___________________=a", "%70m_sid___________________=a"},
		{"bad_escapes", "t=%zz&pm_sid=t&%=%&%5=x&s=%5", "t=%zz&%=%&%5=x&s=%5"},
		{"bad_escape_in_our_name", "_HLS_%zz=1&a", "a"},
		{"semicolons", "a=1;pm_sid=t&b;c=2", "a=1;pm_sid=t&b;c=2"},
		{"empty_pairs", "a=1&&pm_sid=t&b=2&", "a=1&&b=2&"},
		{"plus_and_signs", "q=a+b&sig=ab/c+d==&pm_sid=t", "q=a+b&sig=ab/c+d=="},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Foreign(c.query); got != c.want {
				t.Errorf("Foreign(%q) = %q, want %q", c.query, got, c.want)
			}
		})
	}
}

func TestWithoutToken(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                                     "",
		"pm_sid=t":                             "",
		"a=1&pm_sid=t&_HLS_msn=4&pm%5fsid=u&b": "a=1&_HLS_msn=4&b",
		"_HLS_msn=4&CMCD=x":                    "_HLS_msn=4&CMCD=x",
	} {
		if got := WithoutToken(query); got != want {
			t.Errorf("WithoutToken(%q) = %q, want %q", query, got, want)
		}
	}
}

// TestForeignDoesNotGrow: 1,000 polls of a player that repeats what it finds, as
// dash.js does (check 11).
func TestForeignDoesNotGrow(t *testing.T) {
	t.Parallel()
	query := "token=abc~d%2F1&"
	for range 1000 {
		query = Foreign(query + "&_DASH_pathway=%22a%22&_DASH_throughput=5")
		query += "&pm_sid=t"
	}
	if want := "token=abc~d%2F1&&pm_sid=t"; query != want {
		t.Errorf("after 1,000 polls the query is %q, want %q", clip(query), want)
	}
}

func TestForeignAllocatesNothing(t *testing.T) {
	query := "token=abc~d%2F1&asset=7&pm_sid=t&_HLS_pathway=a&_HLS_throughput=5"
	if n := testing.AllocsPerRun(100, func() { Foreign(query) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// corpus is the queries at the end of §4 of reference steering.md, as seeds.
func corpus() []string {
	return []string{
		"", "_HLS_pathway=&_HLS_throughput=", "_HLS_throughput=1000", "_HLS_pathway=.", "_HLS_pathway=..",
		"_HLS_pathway=a&_DASH_pathway=%22b%2Cc%22&_DASH_throughput=1000%2C", "_HLS_pathway=a%2Fb", "_HLS_pathway=a b",
		"_HLS_pathway=%F0%9F%93%BA", "_HLS_pathway=" + strings.Repeat("a", 10_000), "_DASH_pathway=" + strings.Repeat("a,", 500),
		"_DASH_pathway=,,,", `_HLS_pathway="a`, `_HLS_pathway=""a""`, "_HLS_pathway=a+b", "_DASH_pathway=%22a%2cb%22",
		"pm_sid=one&pm_sid=two", "pm_sid=" + strings.Repeat("a", 100_000), "_HLS_pathway=a%00%0d%0a", "x=%zz&a=1;b=2&pm_sid=t&%ff=%ff",
		"_HLS_throughput=-1794967296", "_HLS_throughput=NaN", "_HLS_throughput=1e9", "_HLS_throughput=12.5", "_HLS_throughput=999999999999999999999999999999",
		"%5fHLS_pathway=a&%5FDASH_pathway=b&%43MCD=x&pm%5fsid=t&a=1", "a=1&&pm_sid=t&", "&&&",
	}
}

func FuzzForeign(f *testing.F) {
	for _, query := range corpus() {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		got := Foreign(query)
		if again := Foreign(got); again != got {
			t.Fatalf("Foreign(%q) = %q, and of that %q", query, got, again)
		}
		// What stays and what was taken are the pairs of the query, in order.
		stay := strings.Split(got, "&")
		for _, pair := range strings.Split(query, "&") {
			name, _, _ := strings.Cut(pair, "=")
			if plainlyOurs(name) {
				continue
			}
			if len(stay) == 0 || stay[0] != pair {
				t.Fatalf("Foreign(%q) = %q lacks %q or has it elsewhere", query, got, pair)
			}
			stay = stay[1:]
		}
		if len(stay) > 0 && !(len(stay) == 1 && stay[0] == "" && got == "") {
			t.Fatalf("Foreign(%q) = %q has more than the query: %q", query, got, stay)
		}
		if p := ReadParams(got); p.Reported || p.Token != "" || p.Malformed {
			t.Fatalf("Foreign(%q) = %q still says something: %+v", query, got, p)
		}
	})
}

// plainlyOurs is the rule in other words than the code's.
func plainlyOurs(name string) bool {
	var plain strings.Builder
	for rest := name; rest != ""; {
		if len(rest) >= 3 && rest[0] == '%' {
			if b, err := strconv.ParseUint(rest[1:3], 16, 8); err == nil {
				plain.WriteByte(byte(b))
				rest = rest[3:]
				continue
			}
		}
		plain.WriteByte(rest[0])
		rest = rest[1:]
	}
	name = plain.String()
	return name == "CMCD" || name == "pm_sid" || strings.HasPrefix(name, "_HLS_") || strings.HasPrefix(name, "_DASH_")
}

func FuzzReadParams(f *testing.F) {
	for _, query := range corpus() {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p := ReadParams(query)
		samples := p.Samples()
		if len(samples) > MaxSamples {
			t.Fatalf("%d samples", len(samples))
		}
		for _, s := range append(samples[:len(samples):len(samples)], Sample{p.Pathway, p.Throughput}) {
			if s.Pathway != "" && !isReadableID(s.Pathway) || s.Throughput < 0 || s.Throughput > MaxThroughput {
				t.Fatalf("%q: sample %+v", query, s)
			}
		}
		if p.Pathway != "" {
			if n := len(samples); n == 0 || samples[n-1] != (Sample{p.Pathway, p.Throughput}) {
				t.Fatalf("%q: pathway %q %d is not the last of %v", query, p.Pathway, p.Throughput, samples)
			}
		} else if p.Throughput != 0 {
			t.Fatalf("%q: a throughput of no pathway", query)
		}
		if len(p.Token) > maxToken {
			t.Fatalf("%q: a token of %d bytes", query, len(p.Token))
		}
		// Whatever stands before, a last word counts.
		if q := ReadParams(query + "&_HLS_pathway=%22zz%22&_HLS_throughput=77&pm_sid=tok"); q.Pathway != "zz" || q.Throughput != 77 || q.Token != "tok" {
			t.Fatalf("%q spoils what follows: %+v", query, q)
		}
	})
}
