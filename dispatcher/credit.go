package dispatcher

import "sync"

// credit bounds what of one association is unanswered, or whose answer SCTP has not taken. When it is used up, acquire
// blocks, nothing more is read, and SCTP's window closes.
type credit struct {
	mu       sync.Mutex
	freed    sync.Cond // of mu
	messages int       // left; guarded by mu
	bytes    int       // left; below 0 after a message that is longer than the rest; guarded by mu
	closed   bool      // guarded by mu
}

func newCredit(messages, bytes int) *credit {
	c := &credit{messages: messages, bytes: bytes}
	c.freed.L = &c.mu

	return c
}

// acquire waits until there is room for a message and takes it. It is false when the
// credit was closed.
func (c *credit) acquire(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	for !c.closed && (c.messages <= 0 || c.bytes <= 0) {
		c.freed.Wait()
	}

	if c.closed {
		return false
	}

	c.messages--
	c.bytes -= size

	return true
}

// release gives back what acquire took.
func (c *credit) release(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.messages++
	c.bytes += size
	c.freed.Broadcast()
}

// close makes acquire fail from now on.
func (c *credit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.closed = true
	c.freed.Broadcast()
}
