package dispatcher

import (
	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/protocol/key"
)

// onWhy answers an operator's question which node a key's next message would get.
func (d *Dispatcher) onWhy(m bus.Message) {
	q, err := bus.DecodeWhy(m.Data)
	if err != nil {
		d.count.drop(DropWhy, 1)
		d.log.Warn().Err(err).Msg("question refused")

		return
	}

	e := d.Explain(q.Key)

	data, err := bus.AppendJSON(nil, &e)
	if err == nil {
		err = d.conn.Publish(m.Reply, "", data)
	}

	if err != nil {
		d.log.Warn().Err(err).Msg("explanation not sent")
	}
}

// Explain tells which node the next message of a session key would get, and why.
func (d *Dispatcher) Explain(k []byte) bus.Explanation {
	hash := key.Hash(k)

	d.mu.Lock()
	e := d.core.Explain(&routing.Message{Key: k, Hash: hash, Number: numberOf(k, hash)})
	nodes := d.core.Stats().Nodes
	d.mu.Unlock()

	explanation := bus.Explanation{
		ID: d.cfg.ID, Key: key.Format(k), Hash: bus.Hex(hash), Policy: d.cfg.Policy,
		Unanswered: e.Unanswered, Node: e.Node,
		Binding: e.Binding, Home: e.Home, Taken: e.Taken, How: e.How,
		Nodes: make([]bus.NodeView, 0, len(nodes)),
	}

	for _, s := range e.Skipped {
		explanation.Skipped = append(explanation.Skipped, bus.Skipped{Node: s.Node, Reason: s.Reason})
	}

	for i := range nodes {
		explanation.Nodes = append(explanation.Nodes, nodeView(&nodes[i]))
	}

	return explanation
}

// numberOf is what policies that hash numbers go by: a station's id, else the hash of the key.
func numberOf(k []byte, hash uint64) uint64 {
	if station, is := key.StationOf(k); is {
		return station
	}

	return hash
}
