package stations

import (
	"math/rand/v2"
	"sync"
	"time"

	"skyring/protocol"
	"skyring/protocol/client"
)

// traffic sets calls up between pairs of stations, and keeps what became of each.
type traffic struct {
	// static after newTraffic
	cfg      Config
	agenda   *agenda
	stations []*station
	progress chan struct{} // holds one: something changed that waitFor may look at

	mu sync.Mutex // guards all that follows, and the stations' fields

	random   *rand.Rand
	idle     []*station // in no call, logged on when they were put here
	open     bool       // new calls are set up
	on       int        // stations logged on now
	tried    int
	everOn   int
	attempts []*attempt
	running  int // attempts that have not ended
	up       int // of those, connected
	refused  map[string]int
	trouble  string // the latest of those, while no station has ever logged on
}

// attempt is one call, from CALL-SETUP until both stations are out of it.
type attempt struct {
	calling, called *station
	out, in         *client.Call // at the calling and the called station; nil: not there yet
	outDone, inDone bool         // cleared there

	placed    time.Time // CALL-SETUP
	alerted   time.Time // CALL-ALERT at the calling station
	answered  time.Time // CALL-CONNECT sent by the called one
	connected time.Time // CALL-CONNECT at the calling one
	planned   bool      // it was hung up as planned
	atKill    bool      // it was connected when the processor was killed
	ended     bool
	why       error // why it was cleared at the calling station
}

func newTraffic(cfg Config) *traffic {
	return &traffic{
		cfg: cfg, agenda: newAgenda(), progress: make(chan struct{}, 1), refused: map[string]int{},
		random: rand.New(rand.NewPCG(cfg.Seed, 0x5349_4d55_4c41_5445)), //nolint:gosec // repeatable, keeps no secret
	}
}

// changed tells waitFor to look again.
func (t *traffic) changed() {
	select {
	case t.progress <- struct{}{}:
	default:
	}
}

func (t *traffic) loggedOn(s *station) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed()

	if s.on {
		return
	}

	t.try(s)

	s.on = true
	t.on++

	if !s.everOn {
		t.trouble = ""
		s.everOn = true
		t.everOn++
		t.idle = append(t.idle, s)
	}
}

func (t *traffic) loggedOff(s *station, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed()

	t.try(s)

	if s.on {
		s.on = false
		t.on--
	}

	reason := "log-on: " + s.anonymous(why)
	t.refused[reason]++

	if t.everOn == 0 {
		t.trouble = reason
	}
}

// try counts a station whose first attempt to log on has ended. The caller holds mu.
func (t *traffic) try(s *station) {
	if !s.tried {
		s.tried = true
		t.tried++
	}
}

// pending is how many of a number of stations that were switched on have not ended their first attempt
// to log on.
func (t *traffic) pending(switchedOn int) int {
	t.mu.Lock()
	defer t.mu.Unlock()

	return switchedOn - t.tried
}

// waiting is how many stations were switched on and have not ended their first attempt to log on. The caller holds mu.
func (t *traffic) waiting() (n int) {
	for _, s := range t.stations {
		if s.client.State() != client.Off && !s.tried {
			n++
		}
	}

	return n
}

// any tells whether a station has ever logged on.
func (t *traffic) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()

	return t.everOn > 0
}

// begin sets calls up from now on, the first ones spread over a while.
func (t *traffic) begin(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.open = true
	spread := min(t.cfg.Hold, t.cfg.Duration/4)

	for i := range t.cfg.Calls {
		t.agenda.add(now.Add(spread*time.Duration(i)/time.Duration(t.cfg.Calls)), t.place)
	}
}

// finish sets no new calls up.
func (t *traffic) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.open = false
}

// place sets a call up between two stations at random.
func (t *traffic) place() {
	t.mu.Lock()
	defer t.mu.Unlock()

	if !t.open {
		return
	}

	calling, called := t.draw(), t.draw()
	if calling == nil || called == nil {
		t.release(calling, called)
		t.agenda.add(time.Now().Add(t.cfg.Ring), t.place)

		return
	}

	a := &attempt{calling: calling, called: called, placed: time.Now()}
	calling.attempt, called.attempt = a, a

	out, err := calling.client.Call(called.client.Station(), client.CallOptions{Service: protocol.ServiceVoice})
	if err != nil { // it has just lost its log-on: no call was attempted
		t.release(calling, called)
		t.agenda.add(time.Now().Add(t.cfg.Ring), t.place)

		return
	}

	a.out = out
	t.attempts = append(t.attempts, a)
	t.running++
}

// draw takes an idle station at random; nil: there is none that is logged on. The caller holds mu.
func (t *traffic) draw() *station {
	for range 8 {
		if len(t.idle) == 0 {
			return nil
		}

		i, last := t.random.IntN(len(t.idle)), len(t.idle)-1
		s := t.idle[i]

		if s.on {
			t.idle[i] = t.idle[last]
			t.idle = t.idle[:last]

			return s
		}
	}

	return nil
}

// release puts stations back among the idle. The caller holds mu.
func (t *traffic) release(stations ...*station) {
	for _, s := range stations {
		if s != nil {
			s.attempt = nil
			t.idle = append(t.idle, s)
		}
	}
}

// exponential is a random duration with a mean, at most longest means. The caller holds mu.
func (t *traffic) exponential(mean time.Duration) time.Duration {
	return time.Duration(min(t.random.ExpFloat64(), longest) * float64(mean))
}

// announced takes the call if it is the one that the plan has for the station.
func (t *traffic) announced(s *station, c *client.Call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()

	a := s.attempt
	if a == nil || a.called != s || a.in != nil || a.calling.client.Station() != c.Peer() {
		return false
	}

	a.in = c

	return true
}

// part is the attempt in which the call is the station's, nil for one that was refused. The caller holds mu.
func (t *traffic) part(s *station, c *client.Call) *attempt {
	if a := s.attempt; a != nil && (a.out == c || a.in == c) {
		return a
	}

	return nil
}

// ring alerts the called user, who answers after a while.
func (t *traffic) ring(s *station, c *client.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()

	a := t.part(s, c)
	if a == nil || c.Alert() != nil {
		return
	}

	t.agenda.add(time.Now().Add(t.exponential(t.cfg.Ring)), func() {
		t.mu.Lock()
		defer t.mu.Unlock()

		if c.Answer() == nil {
			a.answered = time.Now()
		}
	})
}

func (t *traffic) alerting(s *station, c *client.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if a := t.part(s, c); a != nil {
		a.alerted = time.Now()
	}
}

// connected plans the end of the call, when it is connected at the calling station.
func (t *traffic) connected(s *station, c *client.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()

	a := t.part(s, c)
	if a == nil || a.out != c {
		return
	}

	a.connected = time.Now()
	t.up++

	hanging := a.out
	if t.random.IntN(2) == 1 {
		hanging = a.in
	}

	t.agenda.add(a.connected.Add(t.exponential(t.cfg.Hold)), func() { t.hangUp(a, hanging) })
}

// hangUp ends a call as planned. The called station may not know yet that the call is
// connected; it is hung up there all the same.
func (t *traffic) hangUp(a *attempt, c *client.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if a.outDone || a.inDone {
		return // it was dropped
	}

	if c.HangUp(protocol.CauseNormalClearing) == nil {
		a.planned = true
	}
}

func (t *traffic) cleared(s *station, c *client.Call, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed()

	a := t.part(s, c)
	if a == nil {
		return
	}

	if a.out == c {
		a.outDone, a.why = true, why
	} else {
		a.inDone = true
	}

	if !a.outDone || a.in != nil && !a.inDone {
		return
	}

	a.ended = true
	t.running--

	if !a.connected.IsZero() {
		t.up--
	}

	if a.connected.IsZero() {
		t.refused["set-up: "+a.why.Error()]++
	} else if !a.planned {
		t.refused["dropped: "+a.why.Error()]++
	}

	t.release(a.calling, a.called)

	if t.open {
		t.agenda.add(time.Now(), t.place)
	}
}

// markUp marks the calls that are connected, and returns how many they are. The caller holds mu.
func (t *traffic) markUp() int {
	n := 0

	for _, a := range t.attempts {
		if !a.connected.IsZero() && !a.ended && !a.planned {
			a.atKill = true
			n++
		}
	}

	return n
}

// snapshot is how far the run is.
func (t *traffic) snapshot() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()

	return Progress{LoggedOn: t.on, Up: t.up, Running: t.running, Attempts: len(t.attempts), Trouble: t.trouble}
}
