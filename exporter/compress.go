package exporter

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compress returns where to write the body: through zstd or gzip if the reader
// takes them, at the fastest level, because the text is repetitive enough to
// shrink twentyfold even so. Closing it ends the compressed stream.
func compress(w http.ResponseWriter, r *http.Request) io.WriteCloser {
	w.Header().Add("Vary", "Accept-Encoding")
	accepted := strings.Join(r.Header.Values("Accept-Encoding"), ",")
	if accepts(accepted, "zstd") {
		// One goroutine and a small window keep an encoder at about 1 MB.
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
		if err == nil { // always: the options are constants
			w.Header().Set("Content-Encoding", "zstd")
			return z
		}
	}
	if accepts(accepted, "gzip") {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err == nil {
			w.Header().Set("Content-Encoding", "gzip")
			return z
		}
	}
	return plain{w}
}

// plain is the writer of a response that is not compressed.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// accepts reports whether an Accept-Encoding header allows a coding: it is
// named, and not with the quality 0.
func accepts(header, coding string) bool {
	for item := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		if _, q, ok := strings.Cut(params, "q="); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return err == nil && v > 0
		}
		return true
	}
	return false
}
