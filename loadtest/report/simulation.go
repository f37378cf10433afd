package report

import (
	"fmt"
	"math"

	"example.com/holdfast/loadtest"
)

// How far a simulation may be from what was measured before the model is wrong.
const (
	nearSaturation = 0.05 // of the measured second
	nearGood       = 0.03 // points of those who came
)

// simulationRow sets one figure of a simulation against the measured one.
type simulationRow struct {
	Scenario, Act, What, Measured, Simulated, Off, Want string
	Near                                                bool
}

// Mark is what the comparison comes to, in a shape and a word.
func (s simulationRow) Mark() string {
	if s.Near {
		return "● near"
	}
	return "■ off"
}

// simulation compares every act that was simulated with what was measured of it.
func (r *Report) simulation() []simulationRow {
	var rows []simulationRow
	for _, run := range r.Results {
		for i := range run.Acts {
			a := &run.Acts[i]
			if s := r.simulated(run.Scenario, a.Name); s != nil {
				rows = append(rows, compared(run.Scenario, a, s)...)
			}
		}
	}
	return rows
}

func compared(scenario string, measured, simulated *loadtest.ActResult) []simulationRow {
	var rows []simulationRow
	both := map[string]float64{}
	for service, at := range simulated.Measured.SaturationS {
		both[service] = at
	}
	for service, at := range measured.Measured.SaturationS {
		both[service] = at
	}
	for _, service := range bySecond(both) {
		m, s := value(measured.Measured.SaturationS, service), value(simulated.Measured.SaturationS, service)
		rows = append(rows, simulationRow{
			Scenario: scenario, Act: measured.Name, What: "no worker left, " + service,
			Measured: seconds(m), Simulated: seconds(s), Off: off(s, m), Want: "± 5 %",
			Near: math.Abs(s-m) <= nearSaturation*m, // false where one of them is missing
		})
	}
	m, ok := goodShare(tested(measured))
	s, ok2 := goodShare(tested(simulated))
	if ok && ok2 {
		rows = append(rows, simulationRow{
			Scenario: scenario, Act: measured.Name, What: "good during the fault",
			Measured: percent(m), Simulated: percent(s), Off: fmt.Sprintf("%+.1f points", 100*(s-m)), Want: "± 3 points",
			Near: math.Abs(s-m) <= nearGood,
		})
	}
	return rows
}

// Simulation is the table of what was simulated and what was measured, its header first; what the model does not tell
// of the scenarios in it, a line each; and whether all of the table is near.
func (r *Report) Simulation() (rows [][]string, untold []string, near bool) {
	near = true
	rows = [][]string{{"scenario", "act", "of", "measured", "simulated", "off", "want", ""}}
	for _, s := range r.simulation() {
		rows = append(rows, []string{s.Scenario, s.Act, s.What, s.Measured, s.Simulated, s.Off, s.Want, s.Mark()})
		near = near && s.Near
	}
	return rows, r.untold(), near
}

func (r *Report) untold() (lines []string) {
	for _, run := range r.Results {
		if why := r.Untold[run.Scenario]; why != "" && r.Simulated[run.Scenario] != nil {
			lines = append(lines, "Not told of "+run.Scenario+": "+why+".")
		}
	}
	return lines
}
