package main

import (
	"bytes"
	"strings"
	"testing"
)

// predicted runs `holdfast predict …` and returns what it prints and its exit code.
func predicted(t *testing.T, args string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{"predict"}, strings.Fields(args)...), &out, &err)
	return out.String(), err.String(), code
}

func TestPredictShowsItsWork(t *testing.T) {
	const want = `formula   t = (W − busy) / λ
with      W = 200, busy = 2, λ = 40/s held
answer    t = 4.95 s until all workers are taken
`
	if out, err, code := predicted(t, "saturation --workers 200 --busy 2 --held 40"); out != want || code != 0 {
		t.Errorf("got code %d, %s\n%s\nwant\n%s", code, err, out, want)
	}
}

// TestPredictAnswers asks every formula for what the incidents tell.
func TestPredictAnswers(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"saturation --workers 200 --held 0", "t = never until"},
		{"cascade catalogue:workers=200,busy=2,held=40 checkout:workers=200,held=40,after=catalogue",
			"catalogue: t = 4.95 s\n          checkout: t = 9.95 s\n"},
		{"cascade catalogue:workers=200,held=40 gateway:workers=4000,held=440,early=40,after=catalogue",
			"gateway: t = 13.64 s"},
		{"survival --workers 600 --rate 400 --work 60ms --timeout 3s",
			"1224 workers wanted of 600: it does not survive\n          196.1/s served of 400/s: the line grows by 203.9/s"},
		{"survival --workers 500 --rate 573 --timeout 2s", "1146 workers wanted of 500: it does not survive"},
		{"survival --workers 600 --rate 400 --work 60ms --timeout 250ms", "124 workers wanted of 600: it survives"},
		{"backlog --rate 40 --served 30 --duration 1m --capacity 50", "600 wait when the fault ends"},
		{"backlog --rate 40 --served 30 --duration 1m --capacity 50", "gone after: 60 s"},
		{"backlog --rate 40 --served 30 --duration 1m --capacity 40", "gone after: never"},
		{"pool --pool 50 --workers 200 --held 40 --needing 400", "t = 1.625 s until"},
		{"pool --pool 50 --workers 200 --busy 30 --held 40 --needing 400", "t = 1.55 s until"},
		{"edge --workers 600 --rate 400 --work 60ms", "t = 1.44 s: above it"},
		{"slots --rate 40 --p99 100ms", "4 calls in flight: 7 slots"},
		{"erlang --rate 10 --latency 1s --slots 10", "21.46 % of random arrivals find no slot, 0 % of even ones"},
		{"erlang --rate 400 --latency 3060ms --slots 600", " 50.98 % of even ones"},
		{"retries --rate 400 --attempts 4,4", "16 calls a request: 400/s become 6400/s"},
		{"retries --rate 400 --attempts 3 --failing 0.5", "1.75 calls a request: 400/s become 700/s"},
		{"retries --rate 400 --attempts 4,4 --calls 400", "at most 1.125 calls a request: 450/s"},
		{"fanout --fan 3 --retried 0.02 --levels 3 --rate 200 --latency 9ms",
			"3.06, 9.364, 28.65 calls of a request: 41.08 in all\n          " +
				"8215 calls/s, 5731/s at the deepest level\n          73.94 in flight at 9 ms\n"},
		{"fanout --fan 3 --levels 6", "1092 in all"},
		{"availability --each 0.99999 --services 1000", "0.990050: down 87.16 h a year, one alone 5.256 min"},
		{"descriptors --held 40 --hold 90s --limit 20000", "7200 descriptors of 20000: it survives"},
		{"descriptors --held 400 --hold 90s --limit 20000", "72000 descriptors wanted of 20000: none is left after 25 s"},
		{"metastable --workers 200 --rate 1000 --work 80ms",
			"vulnerable: a fault that is bad enough leaves it down for good\n          " +
				"tries = 4: 4000/s when nobody is served, of 2500/s\n          stable up to 625/s\n"},
		{"metastable --workers 200 --rate 1000 --work 80ms --refresh 0s", "stable: it recovers"},
		{"metastable --workers 200 --rate 3000 --work 80ms", "overloaded: it needs no fault"},
	} {
		out, err, code := predicted(t, c.args)
		if !strings.Contains(out, c.want) || err != "" || code != 0 {
			t.Errorf("predict %s: got code %d, %s\n%s\nwant %q", c.args, code, err, out, c.want)
		}
	}
}

// TestPredictRefuses proves that what makes no sense is named, with what is allowed, and answered with nothing else.
func TestPredictRefuses(t *testing.T) {
	for _, c := range []struct{ args, names, allowed string }{
		{"", "expected one of", "saturation"},
		{"saturation --workers 3", "--held", "missing"},
		{"saturation --workers 0 --held 40", "--workers", "from 1 to"},
		{"saturation --workers 1.5 --held 40", "--workers", "whole number"},
		{"saturation --workers 200 --busy=-2 --held 40", "--busy", "from 0 to"},
		{"saturation --workers 200 --held NaN", "--held", "from 0 to"},
		{"saturation --workers 200 --held Inf", "--held", "from 0 to"},
		{"saturation --workers 200 --held many", "--held", "must be a number"},
		{"survival --workers 3 --rate 3 --timeout 2", "--timeout", "as 250ms or 2s"},
		{"survival --workers 3 --rate 3 --timeout=-2s", "--timeout", "from 0s"},
		{"survival --workers 3 --rate 3 --timeout 9000h", "--timeout", "to 8760h"},
		{"pool --pool 5 --workers 9 --held 9 --needing 8", "needing", "from 9"},
		{"slots --rate 0 --p99 1s", "rate", "positive"},
		{"slots --rate 1 --p99 0s", "p99", "positive"},
		{"erlang --rate 4 --latency 1s --slots 2000000", "slots", "to 1e+06"},
		{"retries --rate 3 --attempts 4,0", "--attempts", "from 1 to"},
		{"retries --rate 3 --attempts 4000000,4000000", "the product of attempts", "to 1e+12"},
		{"retries --rate 3 --attempts 4 --failing 1.1", "--failing", "from 0 to 1"},
		{"retries --rate 3 --attempts 4 --calls 0", "calls", "from 1"},
		{"fanout --fan 3 --levels 101", "levels", "to 100"},
		{"fanout --fan 1000 --levels 99", "the number of calls", "to 1e+12"},
		{"availability --each 1.5 --services 2", "--each", "from 0 to 1"},
		{"metastable --workers 1 --rate 1 --work 0s", "work", "from 1e-09"},
		{"cascade catalogue", "<hop>", "must be NAME:workers=N,held=RATE"},
		{"cascade a:workers=4", "<hop>", "must have workers and held"},
		{"cascade a:held=4", "<hop>", "must have workers and held"},
		{"cascade a:worker=4", "a: worker", "one of workers, busy, held, early, after"},
		{"cascade a:workers=4,held=fast", "a: held", "must be a number"},
		{"cascade a:workers=4,held=1 b:workers=4,held=1,after=c", "b waits for", "no hop before it"},
	} {
		out, err, code := predicted(t, c.args)
		if !strings.Contains(err, c.names) || !strings.Contains(err, c.allowed) || out != "" || code != exitCannot {
			t.Errorf("predict %s: got code %d, %q, %q; want the error to say %q, %q", c.args, code, out, err, c.names, c.allowed)
		}
	}
}
