package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Reachable returns where this machine connects to a listener, both as host:port: at a loopback address if it listens on all addresses.
// For a loopback address, clients use no proxy of the environment.
func Reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// Ping asks the engine that listens at an address whether it answers, until ctx ends. It uses no proxy, and follows no redirect.
func Ping(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+Reachable(address)+"/ping", nil)
	if err != nil {
		return fmt.Errorf("%q is not host:port", address)
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
		return fmt.Errorf("ClickHouse at %s does not answer in time", address)
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
