package scale

import (
	"os"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, 1)) }
