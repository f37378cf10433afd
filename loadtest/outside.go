package loadtest

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// healWait is how long it may take to end what was done from outside.
const healWait = time.Minute

// Outside hurts a shop in a way of which its services know nothing: a frozen process, a network that is cut.
type Outside struct {
	// Hurt is called where the scenario's faults begin, and Heal where they end, or the act does, however it ends.
	Hurt, Heal func(context.Context) error
}

// setFaults lets the faults follow upon those that there were.
func (p *act) setFaults(ctx context.Context, before, faults map[string]Faults) error {
	for _, service := range Services {
		if slices.Equal(before[service], faults[service]) {
			continue
		}
		if len(before[service]) > 0 {
			if err := p.admin.clearFaults(ctx, service); err != nil {
				return err
			}
		}
		for _, f := range faults[service] {
			if err := p.admin.setFault(ctx, service, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// setOutside is setFaults for what comes from outside: it is there, or it is not.
func (p *act) setOutside(ctx context.Context, _, faults map[string]Faults) error {
	if len(faults) == 0 {
		return p.heal(ctx)
	}
	if p.hurt {
		return nil
	}
	p.hurt = true // also when it fails: half of it may be done
	if err := p.outside.Hurt(ctx); err != nil {
		return fmt.Errorf("hurt the shop: %w", err)
	}
	return nil
}

// heal ends what was done from outside, above all when ctx has ended.
func (p *act) heal(ctx context.Context) error {
	if !p.hurt {
		return nil
	}
	p.hurt = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healWait)
	defer cancel()
	if err := p.outside.Heal(ctx); err != nil {
		return fmt.Errorf("heal the shop: %w", err)
	}
	return nil
}

// hurts tells whether any phase sets a fault.
func (s *Scenario) hurts() bool {
	return slices.ContainsFunc(s.Acts, func(a Act) bool {
		return slices.ContainsFunc(a.Phases, func(ph Phase) bool { return len(ph.Faults) > 0 })
	})
}

// telling are the services that a bar judges by what they tell of themselves: the bar's own, or all, without those that
// are hurt from outside meanwhile, the ones to which the scenario does something. They may be unable to answer, and owe
// nothing.
func (p *act) telling(b Bar) []string {
	services := b.Services
	if services == nil {
		services = Services
	}
	if p.outside == nil {
		return services
	}
	hurt := p.played(b.Phase).Faults
	return slices.DeleteFunc(slices.Clone(services), func(service string) bool { return len(hurt[service]) > 0 })
}
