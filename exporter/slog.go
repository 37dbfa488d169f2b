package exporter

import (
	"context"
	"log/slog"
	"slices"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// slogHandler writes the log of exporter-toolkit and net/http to the go-kit logger
// of the tracker, which filters by level. tjhop/slog-gokit does so, too, but writes
// time and caller a second time.
type slogHandler struct {
	logger log.Logger
	prefix string // of the open groups, each followed by a dot
	fields []any  // key, value, key, value
}

func (h slogHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h slogHandler) Handle(_ context.Context, r slog.Record) error {
	fields := append([]any{"msg", r.Message}, h.fields...)
	r.Attrs(func(a slog.Attr) bool {
		fields = appendAttr(fields, h.prefix, a)
		return true
	})
	logger := level.Debug(h.logger)
	switch {
	case r.Level >= slog.LevelError:
		logger = level.Error(h.logger)
	case r.Level >= slog.LevelWarn:
		logger = level.Warn(h.logger)
	case r.Level >= slog.LevelInfo:
		logger = level.Info(h.logger)
	}
	return logger.Log(fields...)
}

func (h slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.fields = slices.Clone(h.fields)
	for _, a := range attrs {
		h.fields = appendAttr(h.fields, h.prefix, a)
	}
	return h
}

func (h slogHandler) WithGroup(name string) slog.Handler {
	if name != "" {
		h.prefix += name + "."
	}
	return h
}

func appendAttr(fields []any, prefix string, a slog.Attr) []any {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range v.Group() {
			fields = appendAttr(fields, prefix, member)
		}
		return fields
	}
	if a.Equal(slog.Attr{}) {
		return fields
	}
	return append(fields, prefix+a.Key, v.Any())
}
