package service

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// Every broken rule is told at once, with the variable, its value and what is allowed.
func TestConfigTellsEveryBrokenRuleAtOnce(t *testing.T) {
	cfg := Config{
		Addr: "nowhere", AdminAddr: "127.0.0.1:99999", Workers: -1, MaxConns: -2, OwnWork: -3, Defences: "all,-moat",
		Faults: "maybe", SharedPool: -4, SharedIdle: -5, NaiveAttempts: "0,99", LogLevel: "loud",
		IgnoreTimeout: "yes", WalkAway: "", DrainDelay: -6, DrainTimeout: -7,
	}
	_, err := New("catalogue", cfg)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`ADDR="nowhere": must be host:port`,
		`ADMIN_ADDR="127.0.0.1:99999": must be host:port`,
		`WORKERS=-1: must be 0 to 1000000`,
		`MAX_CONNECTIONS=-2: must be 0 to 1000000`,
		`OWN_WORK=-3ns: must be 0s to 1m0s`,
		`DEFENCES="all,-moat": `,
		`FAULTS="maybe": must be on or off`,
		`SHARED_CLIENT_POOL=-4: must be`,
		`SHARED_CLIENT_IDLE=-5: must be`,
		`NAIVE_ATTEMPTS="0,99": must be two numbers of 1 to 10`,
		`CLIENT_IGNORES_TIMEOUTS="yes": must be on or off`,
		`WALK_AWAY="": must be on or off`,
		`LOG_LEVEL="loud": must be debug, info, warn or error`,
		`DRAIN_DELAY=-6ns: must be`,
		`DRAIN_TIMEOUT=-7ns: must be`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s\nin: %v", want, err)
		}
	}
}

func TestConfigRules(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string // part of the error; "": none
	}{
		{"defaults", func(*Config) {}, ""},
		{"plain Go lifts the limit on connections", func(c *Config) { c.Workers = 0 }, ""},
		{"fewer connections than workers", func(c *Config) { c.MaxConns = 100 }, "at least WORKERS (200)"},
		{"both listeners on one address", func(c *Config) { c.AdminAddr = "127.0.0.1:8081" }, "another address than ADDR"},
		{"both on any port", func(c *Config) { c.Addr, c.AdminAddr = "127.0.0.1:0", "127.0.0.1:0" }, ""},
		{"hardly a descriptor", func(c *Config) { c.FDLimit = 255 }, "FD_LIMIT=255: must be 0 or 256 to"},
		{"a queue of a number", func(c *Config) { c.Queue = "0" }, `QUEUE="0": must be on or off`},
		{"tuned", func(c *Config) { c.Tune = "recommendations.slots=60" }, ""},
		{"tuned to nothing", func(c *Config) { c.Tune = "recommendations.slots=0" }, "TUNE: "},
		{"one number of attempts", func(c *Config) { c.NaiveAttempts = "4" }, "NAIVE_ATTEMPTS"},
		{"three numbers of attempts", func(c *Config) { c.NaiveAttempts = "4,4,4" }, "NAIVE_ATTEMPTS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Defaults("catalogue")
			tt.change(&cfg)
			_, err := cfg.settings("catalogue")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestWorkersZeroLiftsConnections(t *testing.T) {
	cfg := Defaults("catalogue")
	cfg.Workers = 0
	if s, err := cfg.settings("catalogue"); err != nil || s.MaxConns != 0 {
		t.Errorf("MAX_CONNECTIONS is %d (%v), want 0", s.MaxConns, err)
	}
}

func TestAddressesByServiceName(t *testing.T) {
	want := map[string][2]string{
		"gateway": {"127.0.0.1:8080", "127.0.0.1:9080"}, "catalogue": {"127.0.0.1:8081", "127.0.0.1:9081"},
		"recommendations": {"127.0.0.1:8082", "127.0.0.1:9082"}, "checkout": {"127.0.0.1:8083", "127.0.0.1:9083"},
		"currency": {"127.0.0.1:8084", "127.0.0.1:9084"},
	}
	for name, addrs := range want {
		s, err := Defaults(name).settings(name)
		if err != nil || [2]string{s.Addr, s.AdminAddr} != addrs {
			t.Errorf("%s: %s and %s (%v), want %v", name, s.Addr, s.AdminAddr, err, addrs)
		}
	}
	if _, err := Defaults("stranger").settings("stranger"); err == nil {
		t.Error("a service without a port of its own and without ADDR was accepted")
	}
}

func TestTheClientsUpgradeReachesTheSwitchboard(t *testing.T) {
	cfg := Defaults("catalogue")
	cfg.IgnoreTimeout, cfg.WalkAway, cfg.Queue = "on", "on", "off"
	if s, err := cfg.settings("catalogue"); err != nil || !s.env.ClientIgnoresTimeouts || !s.env.WalkAway || !s.env.NoQueue {
		t.Errorf("got %+v (%v), want both on, and no queue", s.env, err)
	}
}

// What kong makes of an empty environment is Defaults: the values are written down twice, but they are the same.
func TestDefaultsAreKongs(t *testing.T) {
	for _, variable := range []string{"ADDR", "ADMIN_ADDR", "WORKERS", "MAX_CONNECTIONS", "OWN_WORK", "DEFENCES", "FAULTS",
		"SHARED_CLIENT_POOL", "SHARED_CLIENT_IDLE", "NAIVE_ATTEMPTS", "CLIENT_IGNORES_TIMEOUTS", "WALK_AWAY", "QUEUE", "TUNE", "FD_LIMIT",
		"LOG_LEVEL", "DRAIN_DELAY", "DRAIN_TIMEOUT"} {
		t.Setenv(variable, "") // which restores it after the test
		os.Unsetenv(variable)
	}
	parse := func(into any) {
		t.Helper()
		parser, err := kong.New(into)
		if err == nil {
			_, err = parser.Parse(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var ordinary struct {
		Config `embed:""`
	}
	var gateway struct {
		Config `embed:"" set:"workers=4000"`
	}
	parse(&ordinary)
	parse(&gateway)
	if diff := cmp.Diff(Defaults("catalogue"), ordinary.Config); diff != "" {
		t.Errorf("catalogue (-Defaults +kong):\n%s", diff)
	}
	if diff := cmp.Diff(Defaults("gateway"), gateway.Config); diff != "" {
		t.Errorf("gateway (-Defaults +kong):\n%s", diff)
	}
}
