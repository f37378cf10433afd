package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/loadtest"
)

// settings are what the environment of a process says to the model.
type settings struct {
	defence.Environment
	ownWork  time.Duration
	replicas int
	deferred bool // the carousel is no part of the page
	offers   bool // of the header on every page
}

// settingsOf reads the environment of one service. Its error names every variable that the model does not know, and
// every value that it cannot read.
func settingsOf(name string, env loadtest.Environment) (settings, error) {
	s := settings{replicas: 1}
	s.Workers = service.Defaults(name).Workers
	s.NaiveAttempts = [2]int{1, 1}
	said := maps.Clone(env["all"])
	if said == nil {
		said = map[string]string{}
	}
	maps.Copy(said, env[name])
	for _, variable := range slices.Sorted(maps.Keys(said)) {
		if err := s.read(variable, said[variable]); err != nil {
			return s, fmt.Errorf("%s: %s=%s: %w", name, variable, said[variable], err)
		}
	}
	return s, nil
}

func (s *settings) read(variable, value string) (err error) {
	switch variable {
	case "WORKERS":
		s.Workers, err = strconv.Atoi(value)
	case "OWN_WORK":
		s.ownWork, err = time.ParseDuration(value)
	case "REPLICAS":
		s.replicas, err = strconv.Atoi(value)
	case "TUNE":
		s.Tuning, err = defence.ParseTuning(value)
	case "QUEUE":
		s.NoQueue = value == "off"
	case "CAROUSEL":
		s.deferred = value == "deferred"
	case "HEADER_OFFERS":
		s.offers = value == "on"
	case "SHARED_CLIENT_POOL":
		s.SharedClientPool, err = strconv.Atoi(value)
	case "CLIENT_IGNORES_TIMEOUTS":
		s.ClientIgnoresTimeouts = value == "on"
	case "WALK_AWAY":
		s.WalkAway = value == "on"
	case "NAIVE_ATTEMPTS":
		outer, inner, _ := strings.Cut(value, ",")
		if s.NaiveAttempts[0], err = strconv.Atoi(outer); err == nil {
			s.NaiveAttempts[1], err = strconv.Atoi(inner)
		}
	case "FD_LIMIT": // descriptors are not modelled
	default:
		err = fmt.Errorf("the model does not know this variable")
	}
	return err
}
