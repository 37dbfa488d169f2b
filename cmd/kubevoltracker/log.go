package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// logFlags are --log.level and --log.format.
type logFlags struct{ level, format string }

func addLogFlags(cmd *kingpin.CmdClause) *logFlags {
	f := &logFlags{}
	addChoice(cmd.Flag("log.level", "Least severe messages to log: debug, info, warn or error.").Default("info"),
		[]string{"debug", "info", "warn", "error"}, &f.level)
	addChoice(cmd.Flag("log.format", "Format of the log: logfmt or json.").Default("logfmt"),
		[]string{"logfmt", "json"}, &f.format)
	return f
}

func (f *logFlags) logger(w io.Writer) log.Logger {
	w = log.NewSyncWriter(w)
	logger := log.NewLogfmtLogger(w)
	if f.format == "json" {
		logger = log.NewJSONLogger(w)
	}
	logger = level.NewFilter(logger, level.Allow(level.ParseDefault(f.level, level.InfoValue())))
	return log.With(logger, "ts", log.DefaultTimestampUTC, "caller", log.DefaultCaller)
}

// takeOverKlog logs client-go's messages as debug messages: the collector itself logs the important
// ones.
func takeOverKlog(logger log.Logger) {
	logger = level.Debug(log.With(logger, "component", "client-go"))
	klog.SetLogger(funcr.New(func(prefix, args string) {
		_ = logger.Log("msg", strings.TrimSpace(fmt.Sprint(prefix, " ", args)))
	}, funcr.Options{}))
}
