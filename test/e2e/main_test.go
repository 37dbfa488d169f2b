package e2e

import (
	"context"
	"os"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// atOnce is how many parallel tests run at once. On two cores, more of them only wait longer for each other.
const atOnce = 6

func TestMain(m *testing.M) { os.Exit(harness.Main(m, atOnce)) }

// background is the context of requests that no test cuts short.
var background = context.Background()
