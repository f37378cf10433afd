package fault

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	tests := []struct {
		line string
		want Fault
	}{
		{"refuse", Fault{Kind: "refuse", Share: 1, Seed: 1}},
		{"hold=90s", Fault{Kind: "hold", Hold: 90 * time.Second, Share: 1, Seed: 1}},
		{"  share=0.1\tseed=7  hold=90s every=10s for=5s ", Fault{Kind: "hold", Hold: 90 * time.Second, Share: 0.1,
			Seed: 7, Every: 10 * time.Second, For: 5 * time.Second}},
		{"refuse share=0 seed=0", Fault{Kind: "refuse"}},
		{"refuse every=1s for=1s", Fault{Kind: "refuse", Share: 1, Seed: 1, Every: time.Second, For: time.Second}},
	}
	for _, tt := range tests {
		got, err := Parse(tt.line)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", tt.line, err, diff)
		}
	}
}

// An error names every word that is wrong and says what is allowed.
func TestParseRefuses(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"", []string{"no kind of fault: give one, hold or refuse"}},
		{"share=0.5", []string{"no kind of fault"}},
		{"drown", []string{`"drown": must be one of refuse, hold=D`}},
		{"hold", []string{`"hold": must be hold=D with D a duration such as 90s`}},
		{"hold=soon", []string{`"hold=soon"`}},
		{"hold=0s", []string{`"hold=0s"`}},
		{"hold=-1s", []string{`"hold=-1s"`}},
		{"hold=25h", []string{"at most 24h"}},
		{"refuse=1", []string{`"refuse=1": must be refuse, without a value`}},
		{"refuse=", []string{`"refuse=": must be refuse, without a value`}},
		{"hold=1s refuse", []string{`"refuse": must be left out: hold is given already`}},
		{"hold=1s hold=2s", []string{`"hold=2s": must be given once`}},
		{"refuse share=1.1", []string{`"share=1.1": must be share=S with S in 0..1`}},
		{"refuse share=NaN", []string{`"share=NaN"`}},
		{"refuse seed=-1", []string{`"seed=-1": must be seed=N`}},
		{"refuse every=10s", []string{"every and for: must be given together"}},
		{"refuse for=10s", []string{"every and for: must be given together"}},
		{"refuse every=5s for=10s", []string{"for at most every"}},
		{"hold=x share=2 seed=y every=z for=0s drown", []string{"hold=x", "share=2", "seed=y", "every=z", "for=0s", "drown"}},
	}
	for _, tt := range tests {
		_, err := Parse(tt.line)
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", tt.line, err, want)
			}
		}
	}
}

// Whatever Parse accepts, String writes so that Parse reads the same.
func TestStringIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Fault{
			Kind:  rapid.SampledFrom([]string{"hold", "refuse"}).Draw(t, "kind"),
			Share: rapid.Float64Range(0, 1).Draw(t, "share"),
			Seed:  rapid.Uint64().Draw(t, "seed"),
		}
		if want.Kind == "hold" {
			want.Hold = time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "hold"))
		}
		if rapid.Bool().Draw(t, "square") {
			want.Every = time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "every"))
			want.For = time.Duration(rapid.Int64Range(1, int64(want.Every)).Draw(t, "for"))
		}
		got, err := Parse(want.String())
		if err != nil || got != want {
			t.Fatalf("%q: %+v, %v", want, got, err)
		}
	})
}

func TestJSON(t *testing.T) {
	f, err := Parse("hold=90s share=0.1 seed=7 every=10s for=5s")
	if err != nil {
		t.Fatal(err)
	}
	f.Since = time.Date(2026, 9, 24, 12, 0, 0, 5e8, time.UTC)
	got, err := json.Marshal(f)
	want := `{"kind":"hold","hold":"1m30s","share":0.1,"seed":7,"every":"10s","for":"5s","since":"2026-09-24T12:00:00.5Z"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if got, _ := json.Marshal(Fault{Kind: "refuse", Share: 1,
		Seed: 1}); string(got) != `{"kind":"refuse","share":1,"seed":1}` {
		t.Errorf("%s", got)
	}
}

// The same seed strikes the same requests; another seed others; and as many as the share says.
func TestShareIsSeeded(t *testing.T) {
	draw := func(seed uint64, share float64) (hits []bool) {
		s := &strike{Fault: Fault{Share: share, Seed: seed}}
		for range 10_000 {
			hits = append(hits, s.hits(time.Time{}))
		}
		return hits
	}
	if !cmp.Equal(draw(7, 0.1), draw(7, 0.1)) {
		t.Error("the same seed struck different requests")
	}
	if cmp.Equal(draw(7, 0.1), draw(8, 0.1)) {
		t.Error("two seeds struck the same requests")
	}
	for share, tolerance := range map[float64]float64{0: 0, 0.01: 0.004, 0.1: 0.012, 0.5: 0.02, 1: 0} { // 4 σ
		n := 0
		for _, hit := range draw(7, share) {
			if hit {
				n++
			}
		}
		if got := float64(n) / 10_000; got < share-tolerance || got > share+tolerance {
			t.Errorf("share %v struck %v", share, got)
		}
	}
}

func TestSquareWave(t *testing.T) {
	set := time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC)
	wave := Fault{Every: 10 * time.Second, For: 4 * time.Second, Since: set}
	tests := []struct {
		f    Fault
		at   time.Duration
		up   bool
		left time.Duration
	}{
		{wave, 0, true, 4 * time.Second},
		{wave, 3 * time.Second, true, time.Second},
		{wave, 4 * time.Second, false, 6 * time.Second},
		{wave, 9 * time.Second, false, time.Second},
		{wave, 10 * time.Second, true, 4 * time.Second},
		{wave, time.Hour + 5*time.Second, false, 5 * time.Second},
		{Fault{Since: set}, time.Hour, true, 0},
		{Fault{Every: time.Second, For: time.Second, Since: set}, time.Hour, true, 0},
	}
	for _, tt := range tests {
		if up, left := tt.f.phase(set.Add(tt.at)); up != tt.up || left != tt.left {
			t.Errorf("%v/%v at %v: %t for %v, want %t for %v", tt.f.For, tt.f.Every, tt.at, up, left, tt.up, tt.left)
		}
	}
}
