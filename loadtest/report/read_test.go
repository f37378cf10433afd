package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/holdfast/loadtest"
)

// folder writes the files of a proof, some of them changed, and returns where.
func folder(t *testing.T, changed map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out [1]*") // which a pattern would take for something else
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var result, summary, ablation bytes.Buffer
	p := loadtest.Proof{}
	p.Add(shortRun(), nil)
	for _, err := range []error{shortRun().WriteJSON(&result), p.WriteJSON(&summary), proof().Ablation.WriteJSON(&ablation)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		"small.json": result.String(), proofFile: summary.String(), ablationFile: ablation.String(),
		"bench.json": `[{"row": 1}]`, "notes.txt": "not for us",
	}
	for name, text := range changed {
		files[name] = text
	}
	for name, text := range files {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadTakesWhatTheCommandsWrote(t *testing.T) {
	r, err := Read(folder(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 1 || r.Results[0].Scenario != "small" || r.Ablation == nil {
		t.Errorf("read %d results and ablation %v", len(r.Results), r.Ablation)
	}
	var read, made bytes.Buffer
	if err := r.WriteMarkdown(&read); err != nil {
		t.Fatal(err)
	}
	same := &Report{Results: []*loadtest.Result{shortRun()}, Ablation: proof().Ablation}
	if err := same.WriteMarkdown(&made); err != nil {
		t.Fatal(err)
	}
	if read.String() != made.String() {
		t.Errorf("what was read tells:\n%s\nand what was written:\n%s", &read, &made)
	}
}

// Every file that is no result is named, with what is wrong with it.
func TestReadNamesWrongFiles(t *testing.T) {
	var b bytes.Buffer
	if err := shortRun().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	var older bytes.Buffer
	bare := shortRun()
	bare.Acts[0].Series = loadtest.Series{}
	if err := bare.WriteJSON(&older); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"no JSON":                  {map[string]string{"x.json": "hello"}, []string{"x.json is not the result of a run", "invalid character"}},
		"another object":           {map[string]string{"x.json": `{"name": "x"}`}, []string{"x.json", `unknown field "name"`}},
		"nothing in it":            {map[string]string{"x.json": `{}`}, []string{"x.json", "scenario must be a name"}},
		"more behind it":           {map[string]string{"x.json": whole + whole}, []string{"x.json", "more behind it"}},
		"a strange verdict":        {map[string]string{"x.json": strings.Replace(whole, `"pass"`, `"maybe"`, 1)}, []string{"x.json", `"maybe"`, `"pass"`}},
		"no series":                {map[string]string{"x.json": older.String()}, []string{"x.json", "acts[0].series", "older holdfast"}},
		"lists that differ":        {map[string]string{"x.json": strings.Replace(whole, `"queue": [`, `"queue": [7,`, 1)}, []string{"x.json", "acts[0].series.services.catalogue", "one length"}},
		"no such scenario":         {map[string]string{"small.json": ""}, []string{"proof.json", `"small"`, "no small.json beside it"}},
		"an empty ablation":        {map[string]string{ablationFile: "{}"}, []string{"ablation.json", "scenario and rows"}},
		"a result by proof's name": {map[string]string{proofFile: whole}, []string{"proof.json is not the summary of a proof"}},
		"two of them":              {map[string]string{"x.json": "", "y.json": "1", "z.json": "2"}, []string{"y.json", "z.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(folder(t, c.files))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}

func TestReadOfNothing(t *testing.T) {
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no result") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "x.json")); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("no file: %v", err)
	}
}
