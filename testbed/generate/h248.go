package generate

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"skyring/testbed/trace"
)

const ppidH248 = 7

// h248 is a gateway's control in the text encoding (ITU-T H.248.1 annex B): per call a context is made, changed and
// taken down. The client is the media gateway, the server its controller.
type h248 struct {
	rng         *rand.Rand
	cfg         Config
	gateway     string
	controller  string
	transaction uint32
}

func newH248(rng *rand.Rand, cfg Config, index int) signalling {
	client, server := addresses(index)
	m := &h248{
		rng: rng, cfg: cfg, gateway: fmt.Sprintf("[%s]:2944", client), controller: fmt.Sprintf("[%s]:2944", server), transaction: 1,
	}
	return signalling{opening: m.opening, session: m.session}
}

// opening registers the gateway: a service change on the null context.
func (m *h248) opening() []step {
	var d dialogue
	m.transaction++
	d.send(time.Millisecond, m.step(trace.ToServer, fmt.Sprintf(
		"Transaction=%d{Context=-{ServiceChange=ROOT{Services{Method=Restart,Reason=\"901 Cold Boot\"}}}}", m.transaction)))
	d.send(4*time.Millisecond, m.step(trace.ToClient, fmt.Sprintf(
		"Reply=%d{Context=-{ServiceChange=ROOT}}", m.transaction)))
	return d.steps
}

// session is one call's context.
func (m *h248) session(number int) []step {
	var d dialogue
	context := number + 1
	exchange := func(after time.Duration, asked, request, answered string) {
		m.transaction++
		d.send(after, m.step(trace.ToClient, fmt.Sprintf("Transaction=%d{Context=%s{%s}}", m.transaction, asked, request)))
		d.send(between(m.rng, 2*time.Millisecond, 9*time.Millisecond), m.step(trace.ToServer,
			fmt.Sprintf("Reply=%d{Context=%d{%s}}", m.transaction, context, answered)))
	}
	here := strconv.Itoa(context)
	exchange(time.Millisecond, "$", fmt.Sprintf("Add=A%d{Media{LocalControl{Mode=SendReceive}}},Add=$", number%30), fmt.Sprintf("Add=A%d,Add=R%d", number%30, context))
	exchange(time.Millisecond+exponential(m.rng, m.cfg.Ring), here, fmt.Sprintf("Modify=R%d{Media{LocalControl{Mode=SendReceive}}}", context), fmt.Sprintf("Modify=R%d", context))
	exchange(time.Millisecond+exponential(m.rng, m.cfg.Hold), here, "Subtract=*{Audit{Statistics}}", fmt.Sprintf("Subtract=A%d,Subtract=R%d", number%30, context))
	return d.steps
}

func (m *h248) step(direction trace.Direction, body string) step {
	from := m.gateway
	if direction == trace.ToClient {
		from = m.controller
	}
	return step{direction: direction, ppid: ppidH248, payload: fmt.Appendf(nil, "MEGACO/1 %s\n%s\n", from, body)}
}
