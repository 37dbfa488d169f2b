package soak

import (
	"context"
	"os"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, 1)) }

// background is the context of requests that no test cuts short.
var background = context.Background()
