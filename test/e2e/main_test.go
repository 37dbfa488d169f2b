package e2e

import (
	"context"
	"os"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// atOnce is how many parallel tests run at once. They wait half of the time, so two cores serve twice as many.
const atOnce = 4

func TestMain(m *testing.M) { os.Exit(harness.Main(m, atOnce)) }

// background is the context of requests that no test cuts short.
var background = context.Background()
