package transport

// Discard closes the links of an endpoint that is not going to run: Run closes them by itself. Whoever made the endpoint
// calls it when what comes after fails.
func (e *Endpoint) Discard() error { return e.closeLinks() }
