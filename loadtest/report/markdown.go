package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the verdict and the tables, for a README.
func (r *Report) WriteMarkdown(w io.Writer) error {
	p := r.page()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s %s.** %s: %s\n", text(p.Title), p.Verdict.Shape, strings.ToUpper(p.Verdict.Word), text(p.Claim),
		text(lowered(p.Conclusion)))
	rows := [][]string{{"scenario", "verdict", "good meanwhile", "predicted → measured", "bars"}}
	for _, v := range p.Runs {
		rows = append(rows, []string{v.Name, v.Verdict.Word, v.good(), v.compared(), fmt.Sprintf("%d of %d", v.Held, v.Held+v.Missed)})
	}
	table(&b, rows)
	for _, v := range p.Runs {
		for _, reason := range v.Reasons {
			fmt.Fprintf(&b, "- %s: %s\n", text(v.Name), text(reason))
		}
	}
	if p.Simulation != nil {
		b.WriteString("\n## Simulated and measured\n")
		cells, untold, _ := r.Simulation()
		table(&b, cells)
		for _, line := range untold {
			fmt.Fprintf(&b, "- %s\n", text(line))
		}
	}
	if p.Ablation != nil {
		fmt.Fprintf(&b, "\n## What each defence is worth, in %s\n", text(p.Ablation.Scenario))
		table(&b, p.Ablation.markdown())
	}
	b.WriteString("\n## Again\n\n```sh\n" + p.Again + "\n```\n\n")
	for _, line := range machines(p.Runs) {
		fmt.Fprintf(&b, "%s\n", text(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// machines are the first and the last of the places and times at which the runs were made.
func machines(runs []runView) []string {
	switch n := len(runs); n {
	case 0:
		return nil
	case 1:
		return []string{"Measured " + runs[0].Machine + "."}
	default:
		return []string{"Measured from " + runs[0].Machine + ",", "to " + runs[n-1].Machine + "."}
	}
}

// good tells of each act how many were served well while the shop was tested.
func (v runView) good() string {
	var parts []string
	for _, a := range v.Acts {
		parts = append(parts, a.Name+" "+a.Good)
	}
	return strings.Join(parts, " · ")
}

// compared tells of each act what was predicted.
func (v runView) compared() string {
	var parts []string
	for _, c := range v.Comparisons {
		parts = append(parts, fmt.Sprintf("%s: %s %s → %s", c.Act, c.Of, c.Predicted, c.Measured))
	}
	return strings.Join(parts, " · ")
}

// table writes rows as Markdown, the first as its header.
func table(b *strings.Builder, rows [][]string) {
	b.WriteString("\n")
	for i, cells := range rows {
		for _, cell := range cells {
			b.WriteString("| " + text(cell) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
		}
	}
	b.WriteString("\n")
}

// text keeps what was read from a file from being taken for HTML, or for the end of a cell.
func text(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ").Replace(s)
}

func lowered(sentence string) string {
	if sentence == "" {
		return ""
	}
	return strings.ToLower(sentence[:1]) + sentence[1:]
}
