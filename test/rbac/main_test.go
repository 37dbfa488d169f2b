package rbac

import (
	"context"
	"os"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// atOnce is how many parallel tests run at once. They wait most of the time.
const atOnce = 6

func TestMain(m *testing.M) { os.Exit(harness.Main(m, atOnce)) }

// background is the context of requests that no test cuts short.
var background = context.Background()
