package catalog

import (
	"net/http"
	"sync/atomic"
)

// sandboxHeader is a header of the embedded ClickHouse's answers: what confines it, or notConfined. Those of a server lack it.
const (
	sandboxHeader = "X-Kubevoltracker-Sandbox"
	notConfined   = "none"
)

// sandbox is what the last answer by HTTP said in that header.
type sandbox struct{ last atomic.Pointer[string] }

func (s *sandbox) read(answer *http.Response) {
	said := answer.Header.Get(sandboxHeader)
	s.last.Store(&said)
}

// Sandboxed reports whether the kernel confines ClickHouse, as its last answer said. It is not known of a server, nor before the first answer.
func (c *Catalog) Sandboxed() (confined, known bool) {
	said := c.sandbox.last.Load()
	if said == nil || *said == "" {
		return false, false
	}
	return *said != notConfined, true
}
