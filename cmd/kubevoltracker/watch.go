package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/term"
)

// watchInterval is that of --watch without a value.
const watchInterval = "2s"

// spellWatch gives --watch, which may stand alone, the value that the parser of the flags needs: the duration behind it,
// if there is one.
func spellWatch(args []string) []string {
	last := slices.Index(args, "--")
	if last < 0 {
		last = len(args)
	}
	var spelled []string
	for i := 0; i < last; i++ {
		arg := args[i]
		if arg == "--watch" {
			every := watchInterval
			if i+1 < last && isDuration(args[i+1]) {
				i++
				every = args[i]
			}
			arg += "=" + every
		}
		spelled = append(spelled, arg)
	}
	return append(spelled, args[last:]...)
}

func isDuration(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}

// clearScreen moves a terminal's cursor to its first cell and clears the rest.
const clearScreen = "\x1b[H\x1b[2J\x1b[3J"

// watch writes the page that show writes, and behind it to stderr the notes, again and again until the context is done, which is no error.
// A terminal is redrawn; elsewhere the pages follow each other, with an empty line between them.
func watch(ctx context.Context, w, stderr io.Writer, every time.Duration, show func(page, notes io.Writer) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	f, isFile := w.(*os.File)
	redraw := isFile && term.IsTerminal(int(f.Fd()))
	for first := true; ; first = false {
		var page, notes bytes.Buffer // whole pages do not flicker
		if redraw {
			page.WriteString(clearScreen)
		} else if !first {
			page.WriteByte('\n')
		}
		err := show(&page, &notes)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(page.Bytes()); err != nil {
			return err
		}
		if _, err := stderr.Write(notes.Bytes()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
