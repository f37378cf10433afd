// Package resilience bounds every call that a service makes to another: a timeout to the last byte, slots of its
// own, a breaker for each endpoint, a retry budget and a fallback; and, on the other side of the wire, deadlines
// that travel and workers that are handed out by criticality.
//
// A slow dependency is worse than a dead one. A refused call fails in a millisecond; a slow one holds what every
// service is limited by, concurrency. So each mechanism here bounds how much of it one dependency may hold.
//
// The order of a call, outermost first:
//
//	observe → fallback → deadline check → retry → slot → breaker → attempt timeout → walk-away → own transport
//
// The slot is taken before the breaker is asked, so that a call turned away for want of a slot does not spend a
// half-open probe. The timeout is inside the breaker, because the breaker must see timeouts.
//
// The package imports nothing of this module and can be copied out.
package resilience
