package collector

import (
	"fmt"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// keeps reports annotations inventory.KeepAnnotation that cannot be read, once for each text: the user thinks that a volume is
// kept, and it is not. A line has the first 200 characters of the text.
type keeps struct {
	logger     log.Logger
	unreadable map[string]string // the texts, by the volume's UID
}

func (k *keeps) report(u *fact.Update) {
	for i := range u.Volumes {
		v := &u.Volumes[i]
		text := v.KeepUnreadable
		if v.Gone || text == "" {
			delete(k.unreadable, v.UID)
			continue
		}
		if k.unreadable[v.UID] == text {
			continue
		}
		k.unreadable[v.UID] = text
		level.Warn(k.logger).Log("msg", "an annotation that keeps a volume cannot be read", "kind", fact.Volumes, "namespace", v.Namespace, "name", v.Name,
			"uid", v.UID, "claim", v.Claim, "annotation", inventory.KeepAnnotation, "value", fmt.Sprintf("%.200s", text), "hint", "write it as: until 2027-01-31: the reason")
	}
}
