package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/holdfast/loadtest/predict"
)

// prediction is what a formula says, for a person to check.
type prediction struct {
	formula, with string
	answers       []string
}

func (p prediction) print(t terminal) error {
	rows := [][]string{{"formula", p.formula}}
	if p.with != "" {
		rows = append(rows, []string{"with", p.with})
	}
	title := "answer"
	for _, a := range p.answers {
		rows = append(rows, []string{title, a})
		title = ""
	}
	return printTable(t.out, rows)
}

// figure writes four digits, and all of those before the point.
func figure(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// lasting writes how long it takes, in the unit in which people say it.
func lasting(d time.Duration) string {
	switch {
	case d == predict.Never:
		return "never"
	case d == 0:
		return "0 s"
	case d < time.Second:
		return figure(d.Seconds()*1000) + " ms"
	case d < 2*time.Minute:
		return figure(d.Seconds()) + " s"
	case d < 2*time.Hour:
		return figure(d.Minutes()) + " min"
	default:
		return figure(d.Hours()) + " h"
	}
}

// What flags hold. Each says what it takes; kong puts the flag's name before it.
type (
	amount   float64       // zero or more
	share    float64       // from zero to one
	count    int           // one or more
	duration time.Duration // zero or more
)

func (a *amount) UnmarshalText(text []byte) (err error) {
	*(*float64)(a), err = number(text, 0, 1e12)
	return err
}

func (s *share) UnmarshalText(text []byte) (err error) {
	*(*float64)(s), err = number(text, 0, 1)
	return err
}

func (c *count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 1e9 {
		return fmt.Errorf("%q: must be a whole number from 1 to 1000000000", text)
	}
	*c = count(n)
	return nil
}

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 || v > predict.Year {
		return fmt.Errorf("%q: must be a duration from 0s to 8760h, as 250ms or 2s", text)
	}
	*d = duration(v)
	return nil
}

func (d duration) String() string { return span(time.Duration(d)) }

func number(text []byte, least, greatest float64) (float64, error) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(v) || v < least || v > greatest {
		return 0, fmt.Errorf("%q: must be a number from %g to %g", text, least, greatest)
	}
	return v, nil
}

// hop is one service of a cascade as it is typed: NAME:workers=200,busy=2,held=40,early=0,after=NAME.
type hop predict.Hop

func (h *hop) UnmarshalText(text []byte) error {
	name, fields, _ := strings.Cut(string(text), ":")
	if name == "" || fields == "" {
		return fmt.Errorf("%q: must be NAME:workers=N,held=RATE and, where they apply, busy=N, early=RATE, after=NAME", text)
	}
	*h = hop{Service: name}
	for field := range strings.SplitSeq(fields, ",") {
		key, value, _ := strings.Cut(field, "=")
		var err error
		switch key {
		case "workers":
			err = (*count)(&h.Workers).UnmarshalText([]byte(value))
		case "busy":
			err = (*amount)(&h.Busy).UnmarshalText([]byte(value))
		case "held":
			err = (*amount)(&h.Held).UnmarshalText([]byte(value))
		case "early":
			err = (*amount)(&h.Early).UnmarshalText([]byte(value))
		case "after":
			h.After = value
		default:
			err = errors.New("must be one of workers, busy, held, early, after")
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, key, err)
		}
	}
	if h.Workers == 0 || h.Held == 0 {
		return fmt.Errorf("%s: must have workers and held", name)
	}
	return nil
}
