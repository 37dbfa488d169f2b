package app

// URL returns the first address on which the metrics are served.
func (a *App) URL() string { return "http://" + a.listeners[0].Addr().String() }
