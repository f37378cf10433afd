package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/holdfast/loadtest"
)

// The files of a proof that are no results of a run, by their names.
const (
	proofFile    = "proof.json"
	ablationFile = "ablation.json"
)

// others are files that this project's other measurements leave beside a proof. They have nothing to tell here.
var others = []string{"bench.json", "capacity.json", "endurance.json"}

// maxFile bounds what is read of one file: a run of an hour leaves a tenth of it.
const maxFile = 1 << 28

// Read reads what `loadtest proof`, `loadtest run --json` and `loadtest ablate --json` wrote into a directory: every
// *.json there. A file that is none of these is an error, and so is a scenario of proof.json without its file; all of
// them are told at once.
func Read(dir string) (*Report, error) {
	files, err := filepath.Glob(filepath.Join(escaped(dir), "*.json"))
	if err != nil {
		return nil, err
	}
	r := &Report{Scenarios: map[string]*loadtest.Scenario{}}
	var proof loadtest.Proof
	var wrong []error
	for _, file := range files {
		switch name := filepath.Base(file); {
		case slices.Contains(others, name):
		case name == proofFile:
			err = decode(file, &proof, "the summary of a proof")
		case name == ablationFile:
			r.Ablation = &loadtest.Ablation{}
			if err = decode(file, r.Ablation, "an ablation"); err == nil {
				err = validAblation(file, r.Ablation)
			}
		default:
			var run *loadtest.Result
			run, err = readResult(file)
			r.Results = append(r.Results, run)
		}
		wrong, err = append(wrong, err), nil
	}
	for _, s := range proof.Scenarios {
		if !slices.Contains(files, filepath.Join(dir, s.Scenario+".json")) {
			wrong = append(wrong, fmt.Errorf("%s tells of %q, but there is no %s.json beside it",
				filepath.Join(dir, proofFile), s.Scenario, s.Scenario))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if len(r.Results) == 0 {
		return nil, fmt.Errorf("%s holds no result: 'holdfast loadtest proof --out %[1]s' writes some", dir)
	}
	slices.SortFunc(r.Results, func(a, b *loadtest.Result) int { return strings.Compare(a.Scenario, b.Scenario) })
	leading := r.leading() // is told of first, as its picture stands first
	at := slices.Index(r.Results, leading)
	r.Results = slices.Insert(slices.Delete(r.Results, at, at+1), 0, leading)
	return r, r.addScenarios()
}

// ReadFile reads the result of one run.
func ReadFile(file string) (*Report, error) {
	run, err := readResult(file)
	if err != nil {
		return nil, err
	}
	r := &Report{Results: []*loadtest.Result{run}, Scenarios: map[string]*loadtest.Scenario{}}
	return r, r.addScenarios()
}

// addScenarios finds the scenarios that come with the program.
func (r *Report) addScenarios() error {
	for _, run := range r.Results {
		if slices.Contains(loadtest.Names(), run.Scenario) {
			s, err := loadtest.Load(run.Scenario)
			if err != nil {
				return err
			}
			r.Scenarios[run.Scenario] = s
		}
	}
	return nil
}

func readResult(file string) (*loadtest.Result, error) {
	run := &loadtest.Result{}
	if err := decode(file, run, "the result of a run"); err != nil {
		return nil, err
	}
	return run, validResult(file, run)
}

// escaped keeps what a pattern would take for a wildcard as it is.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// decode reads one JSON object without fields that are not known.
func decode(file string, into any, what string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fmt.Errorf("%s is larger than %d MB: it is not %s", file, maxFile>>20, what)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s is not %s: %w", file, what, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%s is not %s: there is more behind it", file, what)
	}
	return nil
}

var verdicts = []loadtest.Verdict{loadtest.Pass, loadtest.Fail, loadtest.Void, loadtest.Unjudged}

// validResult refuses what has the form of a result and cannot be one.
func validResult(file string, r *loadtest.Result) error {
	mistake := func(field, allowed string, args ...any) error {
		return fmt.Errorf("%s is not the result of a run: %s must be %s", file, field, fmt.Sprintf(allowed, args...))
	}
	switch {
	case r.Scenario == "":
		return mistake("scenario", "a name")
	case !slices.Contains(verdicts, r.Verdict):
		return mistake("verdict", "one of %q, and is %q", verdicts, r.Verdict)
	case len(r.Acts) == 0:
		return mistake("acts", "at least one")
	}
	for i, a := range r.Acts {
		field := fmt.Sprintf("acts[%d]", i)
		if a.Name == "" || len(a.Phases) == 0 {
			return mistake(field, "an act with a name and phases")
		}
		if a.Series.Classes == nil {
			return mistake(field+".series", "there; an older holdfast wrote this file, so play the scenario again")
		}
		for _, p := range a.Phases {
			if !(p.Seconds >= 0 && p.Seconds <= math.MaxInt32) {
				return mistake(field+".phases", "of 0 s or longer, and %q lasts %g s", p.Name, p.Seconds)
			}
		}
		for class, c := range a.Series.Classes {
			if n := len(c.Asked); len(c.Good) != n || len(c.Fallback) != n || len(c.P50) != n || len(c.P99) != n {
				return mistake(field+".series.classes."+class, "lists of one length")
			}
		}
		for service, s := range a.Series.Services {
			if n := len(s.At); len(s.Workers) != n || len(s.Queue) != n {
				return mistake(field+".series.services."+service, "lists of one length")
			}
		}
	}
	return nil
}

func validAblation(file string, a *loadtest.Ablation) error {
	if a.Scenario == "" || len(a.Rows) == 0 {
		return fmt.Errorf("%s is not an ablation: it must have a scenario and rows", file)
	}
	return nil
}
