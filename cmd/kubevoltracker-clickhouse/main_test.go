package main

import (
	"strings"
	"testing"
)

func TestMistakesInFlagsNameTheFlag(t *testing.T) {
	for arg, want := range map[string]string{
		"--max-memory=x":             `--max-memory: "x" is not a size such as 4GiB`,
		"--reader-timeout=5":         `--reader-timeout: "5" is not a duration such as 10s`,
		"--max-concurrent-queries=a": `--max-concurrent-queries: "a" is not a whole number from 0`,
		"--log.level=loud":           "--log.level: ",
	} {
		if _, err := parse([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
