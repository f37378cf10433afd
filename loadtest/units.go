package loadtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Rate is how many people come in a second: "40/s".
type Rate float64

// Share is a part of a whole: "99.9%". It is at most 1.
type Share float64

// Duration is a time with its unit: "90s".
type Duration time.Duration

// Faults are the faults of one service, each as `holdfast fault set` takes it: "hold=90s", or a list of such.
type Faults []string

// UnmarshalYAML reads "40/s".
func (r *Rate) UnmarshalYAML(n ast.Node) error {
	number, ok := strings.CutSuffix(scalar(n), "/s")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v >= 0 && v <= 100_000) {
		return mistake(n, "a rate is a number of people a second, as 40/s")
	}
	*r = Rate(v)
	return nil
}

// UnmarshalYAML reads "99.9%".
func (s *Share) UnmarshalYAML(n ast.Node) error {
	number, ok := strings.CutSuffix(scalar(n), "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || v < 0 || v > 100 {
		return mistake(n, "a share is a percentage of at most 100, as 99.9%")
	}
	*s = Share(v / 100)
	return nil
}

// UnmarshalYAML reads "90s".
func (d *Duration) UnmarshalYAML(n ast.Node) error {
	v, err := time.ParseDuration(scalar(n))
	if err != nil || v < 0 || v > 24*time.Hour {
		return mistake(n, "a duration is a number with its unit, as 90s or 250ms")
	}
	*d = Duration(v)
	return nil
}

// UnmarshalYAML reads one fault, or a list of them.
func (f *Faults) UnmarshalYAML(n ast.Node) error {
	nodes := []ast.Node{n}
	if list, ok := n.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	for _, n := range nodes {
		text := scalar(n)
		kind, _, _ := strings.Cut(text, " ")
		if kind == "" {
			return mistake(n, "a fault is written as hold=90s or refuse")
		}
		for word := range strings.FieldsSeq(text) {
			key, value, _ := strings.Cut(word, "=")
			if _, err := time.ParseDuration(value); err != nil && slices.Contains([]string{"hold", "every", "for"}, key) {
				return mistake(n, fmt.Sprintf("%s is a duration with its unit, as %[1]s=90s", key))
			}
		}
		*f = append(*f, text)
	}
	return nil
}

func (d Duration) String() string { return time.Duration(d).String() }

// scalar is what stands there, without quotes; empty for what is no scalar.
func scalar(n ast.Node) string {
	if _, ok := n.(ast.ScalarNode); !ok {
		return ""
	}
	return n.GetToken().Value
}

func mistake(n ast.Node, message string) error {
	return &yaml.SyntaxError{Message: message, Token: n.GetToken()}
}
