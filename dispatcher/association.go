package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher/routing"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/protocol/transport"
)

// association is the owner of one SCTP association: it numbers what comes and sends
// what goes back. Its messages outlive it.
type association struct {
	// static after newAssociation
	dispatcher *Dispatcher
	link       *transport.Association
	epoch      uint64
	log        zerolog.Logger
	credit     *credit
	outgoing   *queue                  // full: the peer takes nothing, and is aborted
	sent       chan struct{}           // closed when nothing more is sent
	received   chan struct{}           // closed when nothing more comes
	giveUp     context.CancelCauseFunc // ends the sending of replies

	readingEnds func() // static after serve has begun

	// guarded by the dispatcher's mu
	muted    bool // nothing more is queued
	sequence uint64
	ordinals map[lane]uint64

	unreadable int // ESSP messages in a row that tell no station
}

// lane is what ordinals count over.
type lane struct {
	stream    uint16
	unordered bool
}

var (
	errTakesNothing = errors.New("takes no replies")
	errReplyOver    = errors.New("no more replies")
)

// serve is the life of an association, from its epoch to its end. stop ends when the
// dispatcher drains, asking a little later, and work when it ends.
func (d *Dispatcher) serve(stop, asking, work context.Context, link *transport.Association) {
	readingEnds := sync.OnceFunc(func() { d.reading.Add(-1) })
	defer readingEnds()

	epoch, err := d.epoch(asking, link.Done())
	if err != nil {
		d.turnAway(work, link, err)

		return
	}

	sending, giveUp := context.WithCancelCause(work)
	defer giveUp(errReplyOver)

	a := d.newAssociation(link, epoch, giveUp)
	a.readingEnds = readingEnds
	d.register(a)
	a.log.Debug().Msg("association begins")

	var tasks sync.WaitGroup

	tasks.Go(func() {
		defer close(a.sent)

		a.send(sending)
	})
	tasks.Add(1)

	running := context.AfterFunc(stop, func() {
		defer tasks.Done()

		a.windUp(work)
	})

	err = link.Receive(work, a.deliver) // windUp ends the association, if nothing else does
	close(a.received)
	readingEnds()
	d.unregister(a)

	if running() {
		tasks.Done()
	}

	tasks.Wait()
	a.log.Debug().Err(err).Msg("association ended")
}

// turnAway ends an association that got no epoch. What SCTP has acknowledged of it is
// lost, and counted.
func (d *Dispatcher) turnAway(work context.Context, link *transport.Association, why error) {
	ctx, cancel := context.WithTimeout(work, d.cfg.AskTimeout)
	defer cancel()

	var (
		unread  atomic.Uint64
		reading sync.WaitGroup
	)

	reading.Go(func() { _ = link.Receive(work, func(transport.Message) { unread.Add(1) }) })

	if err := link.Pause(ctx); err != nil || unread.Load() > 0 {
		link.Abort("not served")
	}

	_ = link.Close(ctx) // its reason does not matter any more

	reading.Wait()
	d.count.drop(DropAssociation, 1)

	level := zerolog.DebugLevel
	if n := unread.Load(); n > 0 {
		level = zerolog.ErrorLevel

		d.count.drop(DropUnread, int(n)) //nolint:gosec // bounded by the window

		if d.draining.Load() {
			d.unread.Add(n)
		}
	}

	d.log.WithLevel(level).Err(why).Stringer("peer", link.PeerAddr()).Uint64("unread", unread.Load()).Msg("association not served")
}

func (d *Dispatcher) newAssociation(link *transport.Association, epoch uint64, giveUp context.CancelCauseFunc) *association {
	return &association{
		dispatcher: d,
		link:       link,
		epoch:      epoch,
		log: d.log.With().Uint64("epoch", epoch).Stringer("peer", link.PeerAddr()).
			Uint16("peerPort", link.PeerPort()).Logger(),
		credit:   newCredit(d.cfg.AssociationMessages, d.cfg.AssociationBytes),
		outgoing: newQueue(d.cfg.ReplyQueue),
		sent:     make(chan struct{}),
		received: make(chan struct{}),
		giveUp:   giveUp,
		ordinals: make(map[lane]uint64),
	}
}

func (d *Dispatcher) register(a *association) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.associations[a.epoch] = a
}

// unregister ends the association's replies after those that wait already.
func (d *Dispatcher) unregister(a *association) {
	d.mu.Lock()
	defer d.mu.Unlock()

	delete(d.associations, a.epoch)
	a.muted = true
	a.outgoing.close()
}

// deliver takes one message from the association. It blocks while too much of the
// association is unanswered. Several streams may call it at once.
func (a *association) deliver(m transport.Message) {
	d := a.dispatcher

	if len(m.Payload) > d.cfg.MaxMessage {
		d.count.drop(DropTooLong, 1)
		a.link.Abort(fmt.Sprintf("message of %d bytes: at most %d are taken", len(m.Payload), d.cfg.MaxMessage))

		return
	}

	if !a.credit.acquire(len(m.Payload)) {
		d.count.drop(DropUnread, 1)
		d.unread.Add(1)

		return
	}

	if err := d.submit(a, m); err != nil {
		a.credit.release(len(m.Payload))
		a.refuse(err)
	}
}

// foreignStationError is the error of a message under the id of a station that its sender is not.
type foreignStationError struct{ station uint64 }

func (e foreignStationError) Error() string {
	return fmt.Sprintf("station %016x is none that this peer has proven to be", e.station)
}

// refuse ends an association for a message that was not taken.
func (a *association) refuse(err error) {
	why := DropMalformed
	if foreign, ok := errors.AsType[foreignStationError](err); ok {
		why = DropForeignStation

		a.log.Warn().Stringer("identity", a.link.Identity()).Str("station", fmt.Sprintf("%016x", foreign.station)).
			Msg("a peer speaks for a station that it has not proven to be: its association is aborted")
	}

	a.dispatcher.count.drop(why, 1)
	a.link.Abort("ESSP: " + err.Error())
}

// proven checks that the peer may speak for the station of a key, where it has proven to be anybody (I9). Networks on which peers prove nothing are trusted.
func (a *association) proven(k []byte) error {
	peer := a.link.Identity()
	if !peer.Proven() {
		return nil
	}

	if station, is := key.StationOf(k); is && !peer.Allows(station) {
		return foreignStationError{station}
	}

	return nil
}

// unreadable is how many ESSP messages in a row may tell no station before their
// association is aborted: who sends nothing else does not speak ESSP.
const unreadable = 16

// submit numbers a message and gives it to the core. An ESSP message that tells no
// station is answered like any other, by the key of the association; too many of them
// are an error, and one of a station that the peer is not is one at once.
func (d *Dispatcher) submit(a *association, m transport.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()

	k, ppid, err := d.keyOf(a, &m)
	d.protocols[protocolOf(ppid)]++

	if fault, ok := errors.AsType[key.Fault](err); ok {
		d.faults[fault]++
	}

	switch {
	case ppid != protocol.PPID:
	case err == nil:
		a.unreadable = 0

		if err := a.proven(k); err != nil {
			return err
		}
	default:
		if a.unreadable++; a.unreadable > unreadable {
			return err
		}
	}

	in := lane{m.Stream, m.Unordered}
	a.ordinals[in]++
	a.sequence++

	now := d.now()

	var giveUp time.Duration
	if ppid == protocol.PPID { // its station sends it again
		giveUp = now + d.cfg.Expiry
	}

	hash := key.Hash(k)

	d.core.Submit(now, &routing.Message{
		Epoch:     a.epoch,
		Sequence:  a.sequence,
		Ordinal:   a.ordinals[in],
		Stream:    m.Stream,
		Unordered: m.Unordered,
		PPID:      ppid,
		Key:       k,
		Hash:      hash,
		Number:    numberOf(k, hash),
		Payload:   m.Payload,
		GiveUp:    giveUp,
	})
	d.wake()

	return nil
}

// keyOf is the key of a message and the PPID that processors know its protocol by: they
// know ESSP by one. The error is a key.Fault, and the key then that of the association.
// The caller holds mu.
func (d *Dispatcher) keyOf(a *association, m *transport.Message) (k []byte, ppid uint32, err error) {
	switch m.PPID {
	case d.cfg.ESSPPPID:
		ppid = protocol.PPID
	case protocol.PPID: // not ESSP here, whatever it is
		return key.Association(d.key[:0], a.epoch), 0, nil
	default:
		ppid = m.PPID
	}

	k, err = key.Append(d.key[:0], a.epoch, ppid, m.Payload)

	return k, ppid, err //nolint:wrapcheck // a fault, to be counted by
}
