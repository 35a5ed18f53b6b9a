package policy

import (
	"slices"

	"skyring/ring"
)

// Peek is what the next Pick of a query would choose. It takes no turn, draws no lot and counts no message: later picks are the same as without it. It is for
// explanations, and allocates.
func Peek(p Policy, q Query) ring.Choice {
	if k, remembers := p.(keeper); remembers {
		defer k.keep()()
	}

	return p.Pick(q)
}

// keeper is a policy whose picks depend on the ones before.
type keeper interface {
	// keep returns what undoes the picks that follow, but for what is only looked up sooner by them.
	keep() (undo func())
}

func (m *members) keep() (undo func()) {
	lots := *m.lots

	return func() { *m.lots = lots }
}

func (p *roundRobin) keep() (undo func()) {
	at := p.at

	return func() { p.at = at }
}

func (p *availability) keep() (undo func()) {
	at := p.at

	return func() { p.at = at }
}

func (p *weightedRoundRobin) keep() (undo func()) {
	at, level := p.at, p.level

	return func() { p.at, p.level = at, level }
}

func (p *smoothRoundRobin) keep() (undo func()) {
	credit := slices.Clone(p.credit)

	return func() { p.credit = credit }
}

func (p *responseTimeWeighted) keep() (undo func()) {
	at, base := p.at, p.members.keep()

	return func() {
		p.at = at

		base()
	}
}

func (p *evenRing) keep() (undo func()) {
	credit, given := slices.Clone(p.credit), slices.Clone(p.given)

	return func() { p.credit, p.given = credit, given }
}
