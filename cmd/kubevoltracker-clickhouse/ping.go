package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// pingTimeout is shorter than the second that Kubernetes gives a probe by default.
const pingTimeout = 900 * time.Millisecond

// ping asks the engine that listens at an address whether it answers. It uses no proxy, and follows no redirect.
func ping(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen-address: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // it listens on all addresses
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/ping", nil)
	if err != nil {
		return fmt.Errorf("--listen-address: %w", err)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("ClickHouse at %s does not answer within %s", address, pingTimeout)
	case err != nil:
		return fmt.Errorf("no ClickHouse answers at %s: %w", address, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 100))
	if err != nil || answer.StatusCode != http.StatusOK || strings.TrimSpace(string(text)) != "Ok." {
		return fmt.Errorf("at %s answers something that is no ClickHouse: %s, %.100q", address, answer.Status, text)
	}
	return nil
}
