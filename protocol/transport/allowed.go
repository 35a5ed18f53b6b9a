package transport

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// allowed are the networks that a link hears where nothing proves who the peer is.
type allowed struct {
	networks []netip.Prefix // static

	mu     sync.Mutex                              // of writers
	dialed atomic.Pointer[map[netip.Addr]struct{}] // addresses that answers come from; replaced, never changed
}

// set lists the networks; none means the machine's own loopback.
func (a *allowed) set(networks []netip.Prefix) {
	if len(networks) == 0 {
		networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	for _, prefix := range networks {
		a.networks = append(a.networks, prefix.Masked())
	}
	a.dialed.Store(&map[netip.Addr]struct{}{})
}

func (a *allowed) allows(addr netip.Addr) bool {
	addr = addr.WithZone("")
	for _, prefix := range a.networks {
		if prefix.Contains(addr) {
			return true
		}
	}
	_, dialed := (*a.dialed.Load())[addr]
	return dialed
}

// dial lets the answers of a peer that is dialled through.
func (a *allowed) dial(addr netip.Addr) {
	if a.allows(addr) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	more := map[netip.Addr]struct{}{addr.WithZone(""): {}}
	for addr := range *a.dialed.Load() {
		more[addr] = struct{}{}
	}
	a.dialed.Store(&more)
}
