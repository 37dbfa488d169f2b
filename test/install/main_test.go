package install

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

var update = flag.Bool("update", false, "write the files that are made from others")

func TestMain(m *testing.M) { os.Exit(harness.Main(m, 4)) }

// background is the context of requests that no test cuts short.
var background = context.Background()
