package service

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"example.com/holdfast/internal/defence"
)

// Config is what every service is told by its environment. Each service embeds it:
//
//	type Config struct {
//		service.Config `embed:""`
//		…
//	}
//
// and the gateway, a bigger tier, with `embed:"" set:"workers=4000"`. Defaults gives the same values without kong.
// New validates all of it, and tells every broken rule at once.
type Config struct {
	Addr          string        `env:"ADDR" help:"Public address. Empty: the service's own port on loopback, 8080 to 8084."`
	AdminAddr     string        `env:"ADMIN_ADDR" help:"Admin address. Empty: the service's own port plus 1000, on loopback."`
	Workers       int           `env:"WORKERS" default:"${workers=200}" help:"Requests in progress at once. 0: unlimited, as plain Go; then MAX_CONNECTIONS is 0 too."`
	MaxConns      int           `name:"max-connections" env:"MAX_CONNECTIONS" default:"8192" help:"Connections accepted on the public listener; the rest wait in the kernel. 0: no limit."`
	FDLimit       int           `name:"fd-limit" env:"FD_LIMIT" default:"0" help:"File descriptors that the process may have open, at most as many as the system allows. 0: as it is."`
	OwnWork       time.Duration `env:"OWN_WORK" default:"0s" help:"How long a request waits, holding its worker and using no processor."`
	Defences      string        `env:"DEFENCES" default:"all" help:"Switches at start: all, none, all,-bulkheads, none,+fallbacks."`
	Faults        string        `env:"FAULTS" default:"off" help:"on: faults may be set over the admin API."`
	SharedPool    int           `name:"shared-client-pool" env:"SHARED_CLIENT_POOL" default:"0" help:"Connections in all of the shared client when bulkheads are off. 0: no limit, as Go."`
	SharedIdle    int           `name:"shared-client-idle" env:"SHARED_CLIENT_IDLE" default:"2" help:"Idle connections a host that the shared client keeps."`
	NaiveAttempts string        `env:"NAIVE_ATTEMPTS" default:"1,1" help:"Attempts of the two nested retry loops when retry_budget is off."`
	IgnoreTimeout string        `name:"client-ignores-timeouts" env:"CLIENT_IGNORES_TIMEOUTS" default:"off" help:"on: calls outlive their timeout and their caller, as if an upgraded client library ignored both. No defence undoes it."`
	WalkAway      string        `env:"WALK_AWAY" default:"off" help:"on: callers leave a call at its timeout although it ignores that; its slot stays taken until it ends."`
	Queue         string        `env:"QUEUE" default:"on" help:"off: with shedding on, who finds no worker free is refused and does not wait."`
	Tune          string        `env:"TUNE" help:"Limits other than those declared, for an experiment: recommendations.slots=60,recommendations.timeout=2s."`
	LogLevel      string        `env:"LOG_LEVEL" default:"info" help:"debug, info, warn or error. debug logs every request."`
	DrainDelay    time.Duration `env:"DRAIN_DELAY" default:"100ms" help:"How long a stopping service still accepts, while /readyz says 503. In Kubernetes: a few seconds."`
	DrainTimeout  time.Duration `env:"DRAIN_TIMEOUT" default:"10s" help:"How long a stopping service waits for requests in progress."`
}

// Defaults returns the Config of a service whose environment says nothing.
func Defaults(name string) Config {
	workers := 200
	if name == "gateway" {
		workers = 4000
	}
	return Config{
		Workers: workers, MaxConns: 8192, Defences: "all", Faults: "off", SharedIdle: 2, NaiveAttempts: "1,1",
		IgnoreTimeout: "off", WalkAway: "off", Queue: "on",
		LogLevel: "info", DrainDelay: 100 * time.Millisecond, DrainTimeout: 10 * time.Second,
	}
}

// ports are the public ports of the shop's services; admin is adminOffset above.
var ports = map[string]int{
	"gateway": 8080, "catalogue": 8081, "recommendations": 8082, "checkout": 8083, "currency": 8084,
}

const adminOffset = 1000

// settings is a Config that has been read and found right.
type settings struct {
	Config
	defences defence.Set
	env      defence.Environment
	level    slog.Level
	faults   bool
}

// settings reads cfg for the named service. The error joins every broken rule.
func (cfg Config) settings(name string) (settings, error) {
	s := settings{Config: cfg}
	var errs []error
	broken := func(variable string, value any, allowed string) {
		errs = append(errs, fmt.Errorf("%s=%v: must be %s", variable, value, allowed))
	}

	port, known := ports[name]
	address := func(variable string, addr *string, port int) {
		if *addr == "" && known {
			*addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		}
		if _, p, err := net.SplitHostPort(*addr); err != nil || !isPort(p) {
			broken(variable, strconv.Quote(*addr), "host:port, such as 127.0.0.1:8080; port 0 is any free one")
		}
	}
	address("ADDR", &s.Addr, port)
	address("ADMIN_ADDR", &s.AdminAddr, port+adminOffset)
	if s.Addr == s.AdminAddr && !strings.HasSuffix(s.Addr, ":0") {
		broken("ADMIN_ADDR", s.AdminAddr, "another address than ADDR")
	}

	count := func(variable string, value, atMost int) {
		if value < 0 || value > atMost {
			broken(variable, value, fmt.Sprintf("0 to %d", atMost))
		}
	}
	count("WORKERS", cfg.Workers, 1_000_000)
	count("MAX_CONNECTIONS", cfg.MaxConns, 1_000_000)
	if cfg.FDLimit != 0 && (cfg.FDLimit < 256 || cfg.FDLimit > 10_000_000) {
		broken("FD_LIMIT", cfg.FDLimit, "0 or 256 to 10000000")
	}
	count("SHARED_CLIENT_POOL", cfg.SharedPool, 1_000_000)
	count("SHARED_CLIENT_IDLE", cfg.SharedIdle, 1_000_000)
	if cfg.Workers == 0 {
		s.MaxConns = 0
	} else if cfg.MaxConns != 0 && cfg.MaxConns < cfg.Workers {
		broken("MAX_CONNECTIONS", cfg.MaxConns,
			fmt.Sprintf("0 or at least WORKERS (%d), or workers can never all be used", cfg.Workers))
	}

	duration := func(variable string, value, atMost time.Duration) {
		if value < 0 || value > atMost {
			broken(variable, value, fmt.Sprintf("0s to %v", atMost))
		}
	}
	duration("OWN_WORK", cfg.OwnWork, time.Minute)
	duration("DRAIN_DELAY", cfg.DrainDelay, time.Minute)
	duration("DRAIN_TIMEOUT", cfg.DrainTimeout, 10*time.Minute)

	var err error
	if s.defences, err = defence.Parse(cfg.Defences, defence.All); err != nil {
		errs = append(errs, fmt.Errorf("DEFENCES=%q: %w", cfg.Defences, err))
	}
	on := func(variable, value string) bool {
		if value != "on" && value != "off" {
			broken(variable, strconv.Quote(value), "on or off")
		}
		return value == "on"
	}
	s.faults = on("FAULTS", cfg.Faults)
	if s.level, err = parseLevel(cfg.LogLevel); err != nil {
		broken("LOG_LEVEL", strconv.Quote(cfg.LogLevel), "debug, info, warn or error")
	}
	s.env = defence.Environment{
		Workers: cfg.Workers, SharedClientPool: cfg.SharedPool, SharedClientIdle: cfg.SharedIdle,
		ClientIgnoresTimeouts: on("CLIENT_IGNORES_TIMEOUTS", cfg.IgnoreTimeout), WalkAway: on("WALK_AWAY", cfg.WalkAway),
		NoQueue: !on("QUEUE", cfg.Queue),
	}
	if s.env.Tuning, err = defence.ParseTuning(cfg.Tune); err != nil {
		errs = append(errs, fmt.Errorf("TUNE: %w", err))
	}
	if s.env.NaiveAttempts, err = parseAttempts(cfg.NaiveAttempts); err != nil {
		broken("NAIVE_ATTEMPTS", strconv.Quote(cfg.NaiveAttempts), "two numbers of 1 to 10, such as 1,1 or 4,4")
	}
	return s, errors.Join(errs...)
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && 0 <= n && n <= 65535
}

func parseLevel(s string) (slog.Level, error) {
	switch s {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, errors.New("unknown level")
}

func parseAttempts(s string) (attempts [2]int, err error) {
	outer, inner, _ := strings.Cut(s, ",")
	for i, part := range [...]string{outer, inner} {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > 10 {
			return attempts, errors.New("out of range")
		}
		attempts[i] = n
	}
	return attempts, nil
}
