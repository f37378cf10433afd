package main

import (
	"fmt"
	"strings"
	"time"

	"example.com/holdfast/loadtest/predict"
	"example.com/holdfast/pkg/resilience"
)

// predictCommand answers with the formulas of loadtest/predict, where each has its source and its limits.
type predictCommand struct {
	Saturation   saturationCommand   `cmd:"" help:"When a dependency that holds its calls has taken all workers."`
	Cascade      cascadeCommand      `cmd:"" help:"When each service on the way from a held leaf to the person saturates."`
	Survival     survivalCommand     `cmd:"" help:"Whether a timeout alone keeps a service up, and what it serves if not."`
	Backlog      backlogCommand      `cmd:"" help:"How many wait when a fault ends, and for how long they outlive it."`
	Pool         poolCommand         `cmd:"" help:"When all workers are taken behind a shared pool of connections."`
	Edge         edgeCommand         `cmd:"" help:"The longest latency of a dependency that a service bears."`
	Slots        slotsCommand        `cmd:"" help:"How many slots a dependency needs."`
	Erlang       erlangCommand       `cmd:"" help:"What share of calls finds no slot."`
	Retries      retriesCommand      `cmd:"" help:"How many calls one request becomes when its callers try again."`
	Fanout       fanoutCommand       `cmd:"" help:"How many calls one request becomes at each level of a tree of services."`
	Availability availabilityCommand `cmd:"" help:"What is left of it when services that need each other fail one by one."`
	Descriptors  descriptorsCommand  `cmd:"" help:"When a proxy that nothing limits runs out of file descriptors."`
	Metastable   metastableCommand   `cmd:"" help:"Whether people who refresh keep a service down after the trigger is gone."`
}

// loadFlags are what most formulas begin with.
type loadFlags struct {
	Workers count  `required:"" help:"W: the workers there are; of a bulkhead or a pool, its slots."`
	Rate    amount `required:"" help:"λ: requests a second."`
}

type saturationCommand struct {
	Workers count  `required:"" help:"W: the workers there are."`
	Busy    amount `default:"0" help:"Mean workers that other requests keep taken: their rate × their latency."`
	Held    amount `required:"" help:"λ: requests a second that the dependency holds."`
}

func (c *saturationCommand) Run(t terminal) error {
	at := predict.Saturation(int(c.Workers), float64(c.Busy), float64(c.Held))
	return prediction{
		formula: "t = (W − busy) / λ",
		with:    fmt.Sprintf("W = %d, busy = %g, λ = %g/s held", c.Workers, c.Busy, c.Held),
		answers: []string{fmt.Sprintf("t = %s until all workers are taken", lasting(at))},
	}.print(t)
}

type cascadeCommand struct {
	Hops []hop `arg:"" name:"hop" help:"From the leaf outward, as catalogue:workers=200,busy=2,held=40 checkout:workers=200,held=40,after=catalogue. Early is the rate that the leaf holds by way of the first hop from the start."`
}

func (c *cascadeCommand) Run(t terminal) error {
	hops := make([]predict.Hop, len(c.Hops))
	for i, h := range c.Hops {
		hops[i] = predict.Hop(h)
	}
	at, err := predict.Cascade(hops)
	if err != nil {
		return err
	}
	p := prediction{formula: "t = t_after + (W − busy − early·t_after) / λ"}
	for _, h := range hops {
		p.answers = append(p.answers, fmt.Sprintf("%s: t = %s", h.Service, lasting(at[h.Service])))
	}
	return p.print(t)
}

type survivalCommand struct {
	loadFlags
	Work    duration `default:"0s" help:"s: how long a request keeps its worker besides the wait."`
	Timeout duration `required:"" help:"T: the sum of the timeouts that a request waits for in turn."`
}

func (c *survivalCommand) Run(t terminal) error {
	s, err := predict.Survive(int(c.Workers), float64(c.Rate), time.Duration(c.Work), time.Duration(c.Timeout))
	if err != nil {
		return err
	}
	p := prediction{
		formula: "it survives if λ·(s + T) ≤ W; if not, W / (s + T) requests/s are served",
		with:    fmt.Sprintf("W = %d, λ = %g/s, s = %s, T = %s", c.Workers, c.Rate, c.Work, c.Timeout),
		answers: []string{fmt.Sprintf("%s workers wanted of %d: it survives", figure(s.Wanted), c.Workers)},
	}
	if !s.Survives {
		p.answers = []string{
			fmt.Sprintf("%s workers wanted of %d: it does not survive", figure(s.Wanted), c.Workers),
			fmt.Sprintf("%s/s served of %g/s: the line grows by %s/s", figure(s.Throughput), c.Rate, figure(s.Growth)),
		}
	}
	return p.print(t)
}

type backlogCommand struct {
	Rate     amount   `required:"" help:"λ: requests a second that arrive."`
	Served   amount   `required:"" help:"Requests a second that are served during the fault."`
	Duration duration `required:"" help:"How long the fault lasts."`
	Capacity amount   `required:"" help:"Requests a second that can be served when it is over."`
}

func (c *backlogCommand) Run(t terminal) error {
	waiting, outlives, err := predict.Backlog(
		float64(c.Rate), float64(c.Served), float64(c.Capacity), time.Duration(c.Duration))
	if err != nil {
		return err
	}
	return prediction{
		formula: "waiting = (λ − served)·duration, gone after waiting / (capacity − λ)",
		with: fmt.Sprintf("λ = %g/s, served = %g/s, duration = %s, capacity = %g/s",
			c.Rate, c.Served, c.Duration, c.Capacity),
		answers: []string{
			fmt.Sprintf("%s wait when the fault ends", figure(waiting)),
			fmt.Sprintf("gone after: %s", lasting(outlives)),
		},
	}.print(t)
}

type poolCommand struct {
	Pool    count  `required:"" help:"P: the connections of the shared client, without those that healthy calls keep taken."`
	Workers count  `required:"" help:"W: the workers there are."`
	Busy    amount `default:"0" help:"Mean workers that requests without need of the pool keep taken."`
	Held    amount `required:"" help:"λ_held: requests a second that the dependency holds."`
	Needing amount `required:"" help:"λ: requests a second that need the pool, the held ones among them."`
}

func (c *poolCommand) Run(t terminal) error {
	at, err := predict.PooledSaturation(
		int(c.Pool), int(c.Workers), float64(c.Busy), float64(c.Held), float64(c.Needing))
	if err != nil {
		return err
	}
	return prediction{
		formula: "t = P / λ_held + (W − busy − P) / λ, with at most W − busy for P",
		with: fmt.Sprintf("P = %d, W = %d, busy = %g, λ_held = %g/s, λ = %g/s",
			c.Pool, c.Workers, c.Busy, c.Held, c.Needing),
		answers: []string{fmt.Sprintf("t = %s until all workers are taken", lasting(at))},
	}.print(t)
}

type edgeCommand struct {
	loadFlags
	Work duration `default:"0s" help:"s: how long a request keeps its worker besides the wait for the dependency."`
}

func (c *edgeCommand) Run(t terminal) error {
	edge, err := predict.LatencyEdge(int(c.Workers), float64(c.Rate), time.Duration(c.Work))
	if err != nil {
		return err
	}
	return prediction{
		formula: "t = W / λ − s",
		with:    fmt.Sprintf("W = %d, λ = %g/s, s = %s", c.Workers, c.Rate, c.Work),
		answers: []string{fmt.Sprintf("t = %s: above it the line grows without end", lasting(edge))},
	}.print(t)
}

type slotsCommand struct {
	Rate amount   `required:"" help:"λ: calls a second of one instance of the caller, at its peak."`
	P99  duration `required:"" name:"p99" help:"The dependency's latency in health, its 99th percentile."`
}

func (c *slotsCommand) Run(t terminal) error {
	inFlight, err := predict.InFlight(float64(c.Rate), time.Duration(c.P99))
	if err != nil {
		return err
	}
	slots, err := resilience.SlotsFor(float64(c.Rate), time.Duration(c.P99))
	if err != nil {
		return err
	}
	return prediction{
		formula: "L = λ·p99, slots = L + 1.5·√L, 2 at least",
		with:    fmt.Sprintf("λ = %g/s, p99 = %s", c.Rate, c.P99),
		answers: []string{fmt.Sprintf("%s calls in flight: %d slots", figure(inFlight), slots)},
	}.print(t)
}

type erlangCommand struct {
	Rate    amount   `required:"" help:"λ: calls a second."`
	Latency duration `required:"" help:"s: how long a call keeps its slot."`
	Slots   count    `required:"" help:"m: the slots there are, at most a million. Nobody waits for one."`
}

func (c *erlangCommand) Run(t terminal) error {
	load, err := predict.InFlight(float64(c.Rate), time.Duration(c.Latency))
	if err != nil {
		return err
	}
	random, err := predict.ErlangB(load, int(c.Slots))
	if err != nil {
		return err
	}
	even, err := predict.LittleLoss(load, int(c.Slots))
	if err != nil {
		return err
	}
	return prediction{
		formula: "E = λ·s; B(E, m) of random arrivals, by Erlang; max(0, 1 − m/E) of even ones, by Little",
		with:    fmt.Sprintf("λ = %g/s, s = %s, m = %d", c.Rate, c.Latency, c.Slots),
		answers: []string{
			fmt.Sprintf("E = %s erlangs", figure(load)),
			fmt.Sprintf("%s %% of random arrivals find no slot, %s %% of even ones", figure(100*random), figure(100*even)),
		},
	}.print(t)
}

type retriesCommand struct {
	Rate     amount  `required:"" help:"Requests a second, each meant to be one call."`
	Attempts []count `required:"" placeholder:"N,…" help:"Attempts of each of the nested loops, the first tries counted, as 4,4."`
	Failing  share   `default:"1" help:"f: the share of attempts that fail, from 0 to 1."`
	Budget   share   `default:"0.1" help:"What a call puts into the budget, where one layer retries and has one."`
	Bucket   amount  `default:"10" help:"What the budget holds, and may hold at the start."`
	Calls    amount  `default:"10000" help:"Calls of the run over which the budget is spent, 1 at least."`
}

func (c *retriesCommand) Run(t terminal) error {
	loops, product := make([]int, len(c.Attempts)), make([]string, len(c.Attempts))
	for i, n := range c.Attempts {
		loops[i], product[i] = int(n), fmt.Sprint(n)
	}
	naive, err := predict.Amplification(float64(c.Failing), loops...)
	if err != nil {
		return err
	}
	budgeted, err := predict.BudgetedAmplification(float64(c.Budget), float64(c.Bucket), float64(c.Calls))
	if err != nil {
		return err
	}
	return prediction{
		formula: "1 + f + … + f^(N−1), N = n₁·n₂·…; with a budget at most 1 + budget + bucket/calls",
		with: fmt.Sprintf("f = %g, N = %s, budget = %g, bucket = %g, calls = %g",
			c.Failing, strings.Join(product, "·"), c.Budget, c.Bucket, c.Calls),
		answers: []string{
			fmt.Sprintf("%s calls a request: %g/s become %s/s", figure(naive), c.Rate, figure(float64(c.Rate)*naive)),
			fmt.Sprintf("at one layer with the budget, at most %s calls a request: %s/s",
				figure(budgeted), figure(float64(c.Rate)*budgeted)),
		},
	}.print(t)
}

type fanoutCommand struct {
	Fan     amount   `required:"" help:"n: calls that each call makes to the level below."`
	Retried share    `default:"0" help:"r: the share of calls tried once more, from 0 to 1."`
	Levels  count    `required:"" help:"How many levels deep, at most 100."`
	Rate    amount   `default:"1" help:"Requests a second."`
	Latency duration `default:"0s" help:"How long a call takes: tells how many are in flight."`
}

func (c *fanoutCommand) Run(t terminal) error {
	calls, err := predict.FanOut(float64(c.Fan), float64(c.Retried), int(c.Levels))
	if err != nil {
		return err
	}
	all, levels := 0.0, make([]string, len(calls))
	for i, n := range calls {
		all += n
		levels[i] = figure(n)
	}
	inAll, deepest := float64(c.Rate)*all, float64(c.Rate)*calls[len(calls)-1]
	p := prediction{
		formula: "(n·(1 + r))^k calls at level k",
		with:    fmt.Sprintf("n = %g, r = %g, k = 1 to %d, %g requests/s", c.Fan, c.Retried, c.Levels, c.Rate),
		answers: []string{
			fmt.Sprintf("%s calls of a request: %s in all", strings.Join(levels, ", "), figure(all)),
			fmt.Sprintf("%s calls/s, %s/s at the deepest level", figure(inAll), figure(deepest)),
		},
	}
	if c.Latency > 0 {
		inFlight, err := predict.InFlight(inAll, time.Duration(c.Latency))
		if err != nil {
			return err
		}
		p.answers = append(p.answers, fmt.Sprintf("%s in flight at %s", figure(inFlight), c.Latency))
	}
	return p.print(t)
}

type availabilityCommand struct {
	Each     share `required:"" help:"a: the share of time for which one service is up, from 0 to 1."`
	Services count `required:"" help:"n: how many there are, each of which takes the rest with it."`
}

func (c *availabilityCommand) Run(t terminal) error {
	together, err := predict.Availability(float64(c.Each), int(c.Services))
	if err != nil {
		return err
	}
	one, err := predict.Downtime(float64(c.Each))
	if err != nil {
		return err
	}
	all, err := predict.Downtime(together)
	if err != nil {
		return err
	}
	return prediction{
		formula: "aⁿ",
		with:    fmt.Sprintf("a = %g, n = %d", c.Each, c.Services),
		answers: []string{
			fmt.Sprintf("%.6f: down %s a year, one alone %s", together, lasting(all), lasting(one)),
		},
	}.print(t)
}

type descriptorsCommand struct {
	Held  amount   `required:"" help:"λ: requests a second that are held."`
	Hold  duration `required:"" help:"H: how long each is held."`
	Limit count    `required:"" help:"The descriptors that the process may have, see ulimit -n."`
}

func (c *descriptorsCommand) Run(t terminal) error {
	dies, err := predict.DescriptorDeath(int(c.Limit), float64(c.Held))
	if err != nil {
		return err
	}
	taken := predict.Descriptors(float64(c.Held), time.Duration(c.Hold))
	p := prediction{
		formula: "2·λ·H descriptors, the limit after limit / (2·λ)",
		with:    fmt.Sprintf("λ = %g/s held, H = %s, limit = %d", c.Held, c.Hold, c.Limit),
		answers: []string{fmt.Sprintf("%s descriptors of %d: it survives", figure(taken), c.Limit)},
	}
	if taken >= float64(c.Limit) {
		p.answers = []string{fmt.Sprintf("%s descriptors wanted of %d: none is left after %s",
			figure(taken), c.Limit, lasting(dies))}
	}
	return p.print(t)
}

type metastableCommand struct {
	loadFlags
	Work     duration `required:"" help:"s: how long a request keeps its worker when all is well."`
	Refresh  duration `default:"3s" help:"After how long a person asks again, 0s for never."`
	Patience duration `default:"10s" help:"When a person leaves for good."`
}

// Help says what the answer is worth.
func (c *metastableCommand) Help() string {
	return "A balance of rates for a line without end, in which the work of people who have left is done all the same. " +
		"It cannot say whether a given trigger is bad enough, nor when the service tips."
}

func (c *metastableCommand) Run(t terminal) error {
	s, err := predict.Sustain(
		int(c.Workers), float64(c.Rate), time.Duration(c.Work), time.Duration(c.Refresh), time.Duration(c.Patience))
	if err != nil {
		return err
	}
	return prediction{
		formula: "vulnerable if λ·tries > W / s ≥ λ, tries = ⌈patience / refresh⌉",
		with: fmt.Sprintf("W = %d, λ = %g/s, s = %s, refresh = %s, patience = %s",
			c.Workers, c.Rate, c.Work, c.Refresh, c.Patience),
		answers: []string{
			fmt.Sprintf("%s: %s", s.Stability, map[predict.Stability]string{
				predict.Stable:     "it recovers by itself from any fault",
				predict.Vulnerable: "a fault that is bad enough leaves it down for good",
				predict.Overloaded: "it needs no fault",
			}[s.Stability]),
			fmt.Sprintf("tries = %d: %s/s when nobody is served, of %s/s", s.Tries, figure(s.Load), figure(s.Capacity)),
			fmt.Sprintf("stable up to %s/s", figure(s.Recovers)),
		},
	}.print(t)
}
