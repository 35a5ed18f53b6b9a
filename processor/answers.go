package processor

import (
	"time"

	"skyring/protocol/bus"
)

// answers collects what a batch is answered, one frame for each dispatcher.
type answers struct {
	p      *Processor
	jobs   []job
	frames []answerFrame
	limit  int // bytes of a frame
}

type answerFrame struct {
	reply      string
	dispatcher uint64
	writer     bus.AnswerWriter
}

func newAnswers(p *Processor, jobs []job) *answers {
	return &answers{p: p, jobs: jobs, limit: p.conn.MaxPayload()}
}

// add takes the answers of a group.
func (a *answers) add(g *group) {
	for i := range g.out.answers {
		answer := &g.out.answers[i]
		if answer.Size()+bus.AnswerFrameOverhead > a.limit {
			a.tooLarge(g, answer)
		}
		a.p.status[answer.Status].Add(1)
		f := a.frame(a.jobs[g.from[i]])
		if f.writer.Count() > 0 && f.writer.Len()+answer.Size() > a.limit {
			a.flush(f)
		}
		if f.writer.Append(answer) == nil {
			continue
		}
		a.flush(f) // it was full
		if err := f.writer.Append(answer); err != nil {
			a.failed(1, err)
		}
	}
}

// tooLarge takes the reply from an answer that the bus, which once carried more, does not carry: without it the message is done, with it it would be sent
// again for ever.
func (a *answers) tooLarge(g *group, answer *bus.Answer) {
	a.p.answerFailures.Add(1)
	a.p.log.Error().Str("session", format(g.input.key)).Int("bytes", len(answer.Reply.Payload)).Int("limit", a.limit).
		Msg("reply can not go over the bus, set aside")
	answer.Status, answer.HasReply, answer.Reply = bus.Quarantined, false, bus.Reply{}
}

// frame finds the frame for the sender of a job; there are few senders.
func (a *answers) frame(j job) *answerFrame {
	for i := range a.frames {
		if f := &a.frames[i]; f.dispatcher == j.dispatcher && f.reply == j.reply {
			return f
		}
	}
	a.frames = append(a.frames, answerFrame{reply: j.reply, dispatcher: j.dispatcher})
	f := &a.frames[len(a.frames)-1]
	f.writer.Reset(make([]byte, 0, 4096), j.dispatcher, a.p.incarnation)
	return f
}

func (a *answers) flush(f *answerFrame) {
	if n := f.writer.Count(); n > 0 {
		b := f.writer.Bytes()
		if err := a.p.conn.Publish(f.reply, "", b); err != nil {
			a.failed(n, err)
		}
		f.writer.Reset(b[:0], f.dispatcher, a.p.incarnation)
	}
}

func (a *answers) failed(n int, err error) {
	a.p.answerFailures.Add(uint64(n))
	a.p.sometimes.Do(func() { a.p.log.Warn().Err(err).Msg("answers could not be sent") })
}

// send sends what is collected and notes how long the batch took.
func (a *answers) send() {
	for i := range a.frames {
		a.flush(&a.frames[i])
	}
	now := time.Now()
	for _, j := range a.jobs {
		a.p.meter.end(len(j.envelopes), j.arrived, now)
	}
}
