// Package listen opens the TCP port of the embedded ClickHouse, and asks at it whether ClickHouse answers.
//
// The process that opens it is the engine's own, or its parent, which keeps it open and passes it on: see catalog/engine.
// Both refuse the same addresses, in the same words.
package listen

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Open opens the address to serve on. It must be a loopback address unless readers need a password.
func Open(address string, readerPassword bool) (*net.TCPListener, error) {
	if err := check(address, readerPassword); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the address %s is in use by another process; choose another with --listen-address", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return listener.(*net.TCPListener), nil // by the network's name
}

// Inherit returns the listener that a parent process has opened at the address. The parent keeps it open, so nobody else
// can bind the address while no process serves. Inherit closes the file, unless it returns an error.
func Inherit(file *os.File, address string, readerPassword bool) (*net.TCPListener, error) {
	if err := check(address, readerPassword); err != nil {
		return nil, err
	}
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("--inherited-listener: the descriptor is no listener (%w); leave the flag out to open %s", err, address)
	}
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		_ = listener.Close()
		return nil, fmt.Errorf("--inherited-listener: the descriptor listens on %s, not on TCP; leave the flag out to open %s",
			listener.Addr().Network(), address)
	}
	// The listener has a copy. The file would stay open in the confined program, and keep the port after the server.
	return tcp, file.Close()
}

// check rejects an address that other machines can reach, unless readers need a password.
func check(address string, readerPassword bool) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("--listen-address %q is not host:port", address)
	}
	if err := CheckLoopback(address); err != nil && !readerPassword {
		return fmt.Errorf("%w, which needs a password of readers (--reader-password-file); use 127.0.0.1 for this machine alone", err)
	}
	return nil
}

// CheckLoopback returns an error for an address, host:port, that other machines can reach.
func CheckLoopback(address string) error {
	host, _, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen-address %s is reachable from other machines", address)
}
