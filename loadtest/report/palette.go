package report

import (
	"fmt"
	"html/template"
	"strings"
)

// tone is a colour of the house by what it is for. As a color.Color it is no colour at all but its own number: a
// picture is drawn once, in numbers, and these are then replaced by the colours of the place where it stands. In a page
// that is a CSS variable, so that one picture follows the reader from light to dark; in a file of its own it is the
// colour itself.
type tone uint8

// The tones. 0 is black, which an SVG leaves out, and stands for none.
const (
	ink tone = iota + 1
	muted
	rule
	accent
	shade // of a fault
	field // under the line that matters
	first // the first of the series; the others follow
)

// tones holds the colours of each tone. The series are safe for colour-blind eyes; in the dark the two darkest are
// lighter.
var tones = []struct{ name, light, dark string }{
	ink:       {"ink", "#1f1b16", "#ece6da"},
	muted:     {"muted", "#665d51", "#a99f90"},
	rule:      {"rule", "#ddd4c3", "#3a352d"},
	accent:    {"accent", "#8a2b2b", "#e79a8c"},
	shade:     {"shade", "#f3e4e0", "#3a2522"},
	field:     {"field", "rgba(0,114,178,.16)", "rgba(86,180,233,.2)"},
	first:     {"series-1", "#0072b2", "#3d9fdb"},
	first + 1: {"series-2", "#d55e00", "#e8742a"},
	first + 2: {"series-3", "#009e73", "#1fb98c"},
	first + 3: {"series-4", "#cc79a7", "#cc79a7"},
	first + 4: {"series-5", "#e69f00", "#e69f00"},
	first + 5: {"series-6", "#56b4e9", "#56b4e9"},
}

// RGBA is the number of the tone, as blue.
func (t tone) RGBA() (r, g, b, a uint32) { return 0, 0, uint32(t) * 0x101, 0xffff }

// placeholder is the tone as it is written into a picture.
func (t tone) placeholder() string { return fmt.Sprintf("#0000%02X", uint8(t)) }

// coloured returns a picture with its tones replaced.
func coloured(picture string, colour func(tone) string) string {
	var pairs []string
	for t := ink; int(t) < len(tones); t++ {
		pairs = append(pairs, t.placeholder(), colour(t))
	}
	return strings.NewReplacer(pairs...).Replace(picture)
}

func inPage(t tone) string  { return "var(--" + tones[t].name + ")" }
func inLight(t tone) string { return tones[t].light }
func inDark(t tone) string  { return tones[t].dark }

// variables declares the colours of the pictures for a page.
func variables(colour func(tone) string) template.CSS {
	var b strings.Builder
	for t := ink; int(t) < len(tones); t++ {
		fmt.Fprintf(&b, "--%s:%s;", tones[t].name, colour(t))
	}
	return template.CSS(b.String())
}
