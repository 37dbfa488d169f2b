package namedflag_test

import (
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/cmd/namedflag"
)

// TestErrorsNameTheFlagAndTheCure gives a flag of each type a text that it does not take, and one that it takes.
func TestErrorsNameTheFlagAndTheCure(t *testing.T) {
	for _, sample := range []struct {
		arg, environment string
		want             string // the error; empty for none
	}{
		{"--every=1", "", `--every: "1" is not a duration such as 10s`},
		{"--every=1m30s", "1", ""},
		{"", "1", `TEST_EVERY: "1" is not a duration such as 10s`},
		{"", "1m", ""},
		{"--size=many", "", `--size: "many" is not a size such as 4GiB`},
		{"--size=512MiB", "", ""},
		{"--size=-1GiB", "", `--size: "-1GiB" is not a size such as 4GiB`},
		{"--port=abc", "", `--port: "abc" is not a whole number from 0 to 2147483647`},
		{"--port=1.5", "", `--port: "1.5" is not a whole number from 0 to 2147483647`},
		{"--port=-1", "", `--port: "-1" is not a whole number from 0 to 2147483647`},
		{"--port=99999999999", "", `--port: "99999999999" is not a whole number from 0 to 2147483647`},
		{"--port=0", "", ""},
		{"--most=-1", "", `--most: "-1" is not a whole number from 0 to 4294967295`},
		{"--most=4294967296", "", `--most: "4294967296" is not a whole number from 0 to 4294967295`},
		{"--seed=x", "", `--seed: "x" is not a whole number from 0`},
		{"--rate=x", "", `--rate: "x" is not a number`},
		{"--rate=0.5", "", ""},
		{"--param=a", "", `--param: "a" is not NAME=VALUE`},
		{"--level=loud", "", `--level: enum value must be one of debug,info, got 'loud'`},
		{"--file=/nowhere", "", `--file: path '/nowhere' does not exist`},
		{"--on", "", ""},
		{"--no-on", "", ""},
	} {
		t.Run(sample.arg+" "+sample.environment, func(t *testing.T) {
			t.Setenv("TEST_EVERY", sample.environment)
			application := kingpin.New("test", "").DefaultEnvars()
			cmd := application.Command("run", "")
			cmd.Flag("every", "").Duration()
			cmd.Flag("size", "").Bytes()
			cmd.Flag("port", "").Int()
			cmd.Flag("most", "").Uint32()
			cmd.Flag("seed", "").Uint64()
			cmd.Flag("rate", "").Float64()
			cmd.Flag("param", "").StringMap()
			cmd.Flag("level", "").Enum("debug", "info")
			cmd.Flag("file", "").ExistingFile()
			cmd.Flag("on", "").Bool()
			namedflag.NameAll(application)
			args := []string{"run"}
			if sample.arg != "" {
				args = append(args, sample.arg)
			}
			got := ""
			if _, err := application.Parse(args); err != nil {
				got = err.Error()
			}
			if got != sample.want {
				t.Errorf("got %s, want %s", got, sample.want)
			}
		})
	}
}

func TestRepeatableFlagsStayRepeatable(t *testing.T) {
	application := kingpin.New("test", "")
	names := application.Flag("name", "").Strings()
	once := application.Flag("once", "").String()
	namedflag.NameAll(application)
	if _, err := application.Parse([]string{"--name=a", "--name=b", "--once=c"}); err != nil || len(*names) != 2 || *once != "c" {
		t.Errorf("%v, %v, %v", err, *names, *once)
	}
	if _, err := application.Parse([]string{"--once=c", "--once=d"}); err == nil {
		t.Error("a flag that stands once is taken twice")
	}
}
