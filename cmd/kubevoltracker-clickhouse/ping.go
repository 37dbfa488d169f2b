package main

import (
	"context"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/listen"
)

// pingTimeout is shorter than the second that Kubernetes gives a probe by default.
const pingTimeout = 900 * time.Millisecond

// ping asks the engine that listens at an address whether it answers.
func ping(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	return listen.Ping(ctx, address)
}
