package history

import (
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

var address string

func TestMain(m *testing.M) { catalogtest.Main(m, &address) }
