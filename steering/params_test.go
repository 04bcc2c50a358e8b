package steering

import (
	"slices"
	"strings"
	"testing"
)

// said is what a test expects of a query.
type said struct {
	pathway    string
	throughput int64
	samples    string // "id=bps …"; "" is the pathway and its throughput alone
	token      string
	quiet      bool // nothing was reported
	malformed  bool
}

func samplesOf(p *Params) []string {
	var out []string
	for _, s := range p.Samples() {
		out = append(out, s.Pathway+"="+itoa(s.Throughput))
	}
	return out
}

func check(t *testing.T, query string, want said) {
	t.Helper()
	p := ReadParams(query)
	if p.Pathway != want.pathway || p.Throughput != want.throughput || p.Token != want.token || p.Reported == want.quiet || p.Malformed != want.malformed {
		t.Errorf("%s:\ngot  pathway %q throughput %d token %q reported %v malformed %v\nwant %+v",
			clip(query), p.Pathway, p.Throughput, p.Token, p.Reported, p.Malformed, want)
	}
	samples := strings.Fields(want.samples)
	if want.samples == "" && want.pathway != "" {
		samples = []string{want.pathway + "=" + itoa(want.throughput)}
	}
	if got := samplesOf(&p); !slices.Equal(got, samples) {
		t.Errorf("%s: samples %v, want %v", clip(query), got, samples)
	}
}

// TestReadParamsAsPlayersSend: the queries of reference steering.md §2.1.
func TestReadParamsAsPlayersSend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, query string
		want        said
	}{
		{"nothing", "", said{quiet: true}},
		{"hls_js", "_HLS_pathway=cdn-a&_HLS_throughput=500000", said{pathway: "cdn-a", throughput: 500000}},
		{"hls_js_reload", "pm_sid=AQ_-x&asset=7&_HLS_pathway=cdn-a&_HLS_throughput=4212345", said{pathway: "cdn-a", throughput: 4212345, token: "AQ_-x"}},
		{"hls_js_wrapped_negative", "_HLS_pathway=a&_HLS_throughput=-1794967296", said{pathway: "a", malformed: true}},
		{"hls_js_wrapped_positive", "_HLS_pathway=a&_HLS_throughput=705032704", said{pathway: "a", throughput: 705032704}},
		{"dash_js_one", "_DASH_pathway=%22a%22&_DASH_throughput=941000", said{pathway: "a", throughput: 941000}},
		{"dash_js_two", "_DASH_pathway=%22a%2Cb%22&_DASH_throughput=941000%2C33119500", said{pathway: "b", throughput: 33119500, samples: "a=941000 b=33119500"}},
		{"dash_js_blank", "_DASH_pathway=%22a%22&_DASH_throughput=", said{pathway: "a"}},
		{"dash_js_two_blanks", "_DASH_pathway=%22a%2Cb%22&_DASH_throughput=%2C", said{pathway: "b", samples: "a=0 b=0"}},
		{"dash_js_5_0_1", "_DASH_pathway=%22a%22&_DASH_throughput=%22123%22", said{pathway: "a", throughput: 123}},
		{"dash_js_5_0_1_list", "_DASH_pathway=%22a%2Cb%22&_DASH_throughput=%22123%2C456%22", said{pathway: "b", throughput: 456, samples: "a=123 b=456"}},
		{"dash_js_repeats", "_DASH_pathway=%22a%22&_DASH_throughput=1&_DASH_pathway=%22b%22&_DASH_throughput=2", said{pathway: "b", throughput: 2}},
		{"shaka_dash", "_DASH_pathway=b&_DASH_throughput=7000000", said{pathway: "b", throughput: 7000000}},
		{"vhs_fraction", "_HLS_pathway=a&_HLS_throughput=4194304.75", said{pathway: "a", throughput: 4194304}},
		{"media3_dash", "_DASH_pathway=b,a&_DASH_throughput=,5", said{pathway: "a", throughput: 5, samples: "b=0 a=5"}},
		{"media3_dash_none_known", "_DASH_pathway=b,a", said{pathway: "a", samples: "b=0 a=0"}},
		{"unreal_both", "_HLS_pathway=a&_HLS_throughput=1000&_DASH_pathway=%22a%22&_DASH_throughput=1000", said{pathway: "a", throughput: 1000}},
		{"both_hls_counts", "_DASH_pathway=b&_DASH_throughput=2&_HLS_pathway=a&_HLS_throughput=1", said{pathway: "a", throughput: 1}},
		{"both_hls_is_unreadable", "_HLS_pathway=a/b&_DASH_pathway=b&_DASH_throughput=2", said{pathway: "b", throughput: 2, malformed: true}},
		{"both_hls_has_no_pathway", "_HLS_throughput=1&_DASH_pathway=b&_DASH_throughput=2", said{pathway: "b", throughput: 2}},
		{"spec_dash", "_DASH_pathway=%22a%2Cb%22&_DASH_throughput=1000%2C", said{pathway: "b", samples: "a=1000 b=0"}},
		{"cmcd_beside", "CMCD=ot%3Dm%2Csid%3D%22x%22&_HLS_pathway=a", said{pathway: "a"}},
		{"unnamed_variants", "_HLS_pathway=.&_HLS_throughput=5", said{pathway: ".", throughput: 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, c.query, c.want)
		})
	}
}

// TestReadParamsIsLenient: checks 18 to 28 and the corpus at the end of §4 of
// reference steering.md.
func TestReadParamsIsLenient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, query string
		want        said
	}{
		// Spellings of one id (19).
		{"plain", "_HLS_pathway=a", said{pathway: "a"}},
		{"escaped_quotes", "_HLS_pathway=%22a%22", said{pathway: "a"}},
		{"raw_quotes", `_HLS_pathway="a"`, said{pathway: "a"}},
		{"unbalanced_quote", `_HLS_pathway="a`, said{pathway: "a"}},
		{"nested_quotes", `_HLS_pathway=""a%22%22`, said{pathway: "a"}},
		{"quote_inside", `_HLS_pathway=a"b`, said{malformed: true}},
		{"escaped_letters", "_HLS_pathway=%63dn%2Da", said{pathway: "cdn-a"}},
		{"lower_case_hex", "_DASH_pathway=%22a%2cb%22&_DASH_throughput=1%2c2", said{pathway: "b", throughput: 2, samples: "a=1 b=2"}},
		{"escaped_name", "%5fHLS%5Fpathway=a", said{pathway: "a"}},
		{"name_in_another_case", "_hls_pathway=a", said{quiet: true}},
		{"longer_name", "_DASH_throughputs=5&_HLS_pathways=a&%5fDASH_throughputs=5", said{quiet: true}},
		{"blanks_around", "_DASH_pathway=%22a,+b%22&_DASH_throughput=1%2C%202", said{pathway: "b", throughput: 2, samples: "a=1 b=2"}},
		// Empty.
		{"empty_values", "_HLS_pathway=&_HLS_throughput=", said{quiet: true}},
		{"empty_quotes", "_HLS_pathway=%22%22", said{quiet: true}},
		{"names_alone", "_HLS_pathway&_HLS_throughput&pm_sid", said{quiet: true}},
		{"commas", "_DASH_pathway=,,,", said{quiet: true}},
		{"trailing_comma", "_DASH_pathway=a,&_DASH_throughput=5,", said{pathway: "a", throughput: 5}},
		{"throughput_alone", "_HLS_throughput=1000", said{}},
		// Ids that nobody can have (23).
		{"slash", "_HLS_pathway=a%2Fb", said{malformed: true}},
		{"blank_inside", "_HLS_pathway=a+b", said{malformed: true}},
		{"emoji", "_HLS_pathway=%F0%9F%93%BA", said{malformed: true}},
		{"raw_utf8", "_HLS_pathway=café", said{malformed: true}},
		{"invalid_utf8", "_HLS_pathway=%ff", said{malformed: true}},
		{"nul", "_HLS_pathway=a%00", said{malformed: true}},
		{"line_break", "_HLS_pathway=a%0d%0aSet-Cookie:x", said{malformed: true}},
		{"64_bytes", "_HLS_pathway=" + strings.Repeat("a", 64), said{pathway: strings.Repeat("a", 64)}},
		{"64_escaped_bytes", "_HLS_pathway=" + strings.Repeat("%61", 64), said{pathway: strings.Repeat("a", 64)}},
		{"65_bytes", "_HLS_pathway=" + strings.Repeat("a", 65), said{malformed: true}},
		{"65_escaped_bytes", "_HLS_pathway=" + strings.Repeat("%61", 65), said{malformed: true}},
		{"10_kB", "_HLS_pathway=" + strings.Repeat("a", 10_000), said{malformed: true}},
		{"unreadable_among_others", "_DASH_pathway=a,b%2Fc,d&_DASH_throughput=1,2,3", said{pathway: "d", throughput: 3, samples: "a=1 d=3", malformed: true}},
		{"unreadable_in_use", "_DASH_pathway=a,b%2Fc&_DASH_throughput=1,2", said{samples: "a=1", malformed: true}},
		// Lists (20, 22).
		{"more_pathways", "_DASH_pathway=a,b,c&_DASH_throughput=1", said{pathway: "c", samples: "a=1 b=0 c=0", malformed: true}},
		{"more_throughputs", "_DASH_pathway=a&_DASH_throughput=1,2,3", said{pathway: "a", throughput: 1, malformed: true}},
		{"last_8_are_kept", "_DASH_pathway=a,b,c,d,e,f,g,h,i,j&_DASH_throughput=1,2,3,4,5,6,7,8,9,10", said{
			pathway: "j", throughput: 10, samples: "c=3 d=4 e=5 f=6 g=7 h=8 i=9 j=10",
		}},
		{"500_ids", "_DASH_pathway=" + strings.Repeat("x,", 499) + "y", said{pathway: "y", samples: strings.Repeat("x=0 ", 7) + "y=0"}},
		// Throughputs (24).
		{"zero", "_HLS_pathway=a&_HLS_throughput=0", said{pathway: "a"}},
		{"not_a_number", "_HLS_pathway=a&_HLS_throughput=NaN", said{pathway: "a", malformed: true}},
		{"infinity", "_HLS_pathway=a&_HLS_throughput=Infinity", said{pathway: "a", malformed: true}},
		{"inf", "_HLS_pathway=a&_HLS_throughput=inf", said{pathway: "a", malformed: true}},
		{"hexadecimal", "_HLS_pathway=a&_HLS_throughput=0x10", said{pathway: "a", malformed: true}},
		{"underscore", "_HLS_pathway=a&_HLS_throughput=1_0", said{pathway: "a", malformed: true}},
		{"exponent", "_HLS_pathway=a&_HLS_throughput=1e9", said{pathway: "a", throughput: 1e9}},
		{"exponent_beyond_floats", "_HLS_pathway=a&_HLS_throughput=1e999", said{pathway: "a", throughput: MaxThroughput}},
		{"exponent_below_floats", "_HLS_pathway=a&_HLS_throughput=1e-999", said{pathway: "a"}},
		{"fraction", "_HLS_pathway=a&_HLS_throughput=12.5", said{pathway: "a", throughput: 12}},
		{"escaped_fraction", "_HLS_pathway=a&_HLS_throughput=12%2E5", said{pathway: "a", throughput: 12}},
		{"less_than_one", "_HLS_pathway=a&_HLS_throughput=0.5", said{pathway: "a"}},
		{"two_points", "_HLS_pathway=a&_HLS_throughput=1.2.3", said{pathway: "a", malformed: true}},
		{"30_digits", "_HLS_pathway=a&_HLS_throughput=" + strings.Repeat("9", 30), said{pathway: "a", throughput: MaxThroughput}},
		{"more_than_any_line", "_HLS_pathway=a&_HLS_throughput=1000000000001", said{pathway: "a", throughput: MaxThroughput}},
		{"long_fraction", "_HLS_pathway=a&_HLS_throughput=1." + strings.Repeat("1", 40), said{pathway: "a", malformed: true}},
		{"long_escaped", "_HLS_pathway=a&_HLS_throughput=" + strings.Repeat("%31", 40), said{pathway: "a", malformed: true}},
		{"minus", "_HLS_pathway=a&_HLS_throughput=-", said{pathway: "a", malformed: true}},
		{"minus_zero", "_HLS_pathway=a&_HLS_throughput=-0", said{pathway: "a"}},
		{"plus", "_HLS_pathway=a&_HLS_throughput=+5", said{pathway: "a", throughput: 5}},
		// Doubles (25).
		{"five_copies", "_HLS_pathway=a&_HLS_pathway=b&_HLS_pathway=c&_HLS_pathway=d&_HLS_pathway=e", said{pathway: "e"}},
		{"two_tokens", "pm_sid=one&pm_sid=two", said{token: "two", quiet: true}},
		{"last_copy_is_empty", "_HLS_pathway=a&_HLS_pathway=", said{quiet: true}},
		// What spoils other parsers (26).
		{"bad_escape_elsewhere", "x=%zz&pm_sid=tok&_HLS_pathway=a&%", said{pathway: "a", token: "tok"}},
		{"bad_escape_in_pathway", "_HLS_pathway=%zz&pm_sid=tok", said{token: "tok", malformed: true}},
		{"semicolons", "x=1;y=2&pm_sid=tok;&_HLS_pathway=a;b", said{token: "tok;", malformed: true}},
		{"semicolon_does_not_part", "x=1;_HLS_pathway=a", said{quiet: true}},
		{"nul_in_a_name", "_HLS_pathway%00=a", said{quiet: true}},
		{"equals_signs", "pm_sid=a=b&==&=", said{token: "a=b", quiet: true}},
		{"question_mark", "x=1?_HLS_pathway=a", said{quiet: true}},
		// Tokens (28).
		{"escaped_token", "pm_sid=%41Q%2D%5f", said{token: "AQ-_", quiet: true}},
		{"long_token", "pm_sid=" + strings.Repeat("a", 129), said{quiet: true}},
		{"long_escaped_token", "pm_sid=" + strings.Repeat("%61", 129), said{quiet: true}},
		{"longest_token", "pm_sid=" + strings.Repeat("%61", 128), said{token: strings.Repeat("a", 128), quiet: true}},
		{"100_kB_token", "pm_sid=" + strings.Repeat("a", 100_000) + "&_HLS_pathway=a", said{pathway: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, c.query, c.want)
		})
	}
}

// TestReadParamsAllocatesNothing for what players send.
func TestReadParamsAllocatesNothing(t *testing.T) {
	for _, query := range []string{
		"pm_sid=AQ_-x&asset=7&_HLS_pathway=cdn-a&_HLS_throughput=4212345",
		"_DASH_pathway=%22a%2Cb%22&_DASH_throughput=941000%2C33119500&x=%zz",
	} {
		if n := testing.AllocsPerRun(100, func() { ReadParams(query) }); n != 0 {
			t.Errorf("%s: %v allocations", query, n)
		}
	}
}
