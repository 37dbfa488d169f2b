package engine

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// dial connects and returns how a read ends: a refused connection is closed at once, one that nobody accepts times out.
func dial(t *testing.T, address string) error {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err = c.Read(make([]byte, 1))
	return err
}

func TestAPortIsRefusedOnlyBetweenChildren(t *testing.T) {
	p, err := openPort(&Options{ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	address := p.listener.Addr().String()
	passed, err := p.file()
	if err != nil {
		t.Fatal(err)
	}
	passed.Fd() // makes the socket blocking, as os/exec does for a child
	passed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() { p.refuse(ctx, time.Hour); close(ended) }()
	for range 3 {
		if err := dial(t, address); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a client waits while no child runs")
		}
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the end of ctx does not end refuse")
	}
	if err := dial(t, address); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection does not wait for the child that starts: %v", err)
	}
	began := time.Now()
	p.refuse(t.Context(), 300*time.Millisecond)
	if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
		t.Errorf("a pause of 300 ms took %v", took)
	}
}

// TestTheEndOfTheContextEndsTheWaitForAChild: nobody answers, and the error is the context's all the same.
func TestTheEndOfTheContextEndsTheWaitForAChild(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	c := &child{exited: make(chan struct{}), serving: make(chan struct{}, 1)}
	c.serving <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := c.ready(ctx, nobody.Addr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
