package catalog

import (
	"strings"
	"testing"
)

func TestNoControlCharacterReachesATerminal(t *testing.T) {
	evil := "a\x1b[31mb\r\n\tc\u0085d\u202ee\x7f"
	for _, got := range []string{Printable(evil), humanText(evil, NoUnit), jsonText(evil)} {
		if strings.ContainsAny(got, "\x1b\r\n\t\u0085\x7f") {
			t.Errorf("%q", got)
		}
	}
	if got := Printable(evil); got != `a\x1b[31mb\r\n\tc\u0085d\u202ee\x7f` {
		t.Errorf("%s", got)
	}
	if got := Printable("ordinary ÄÖ 日本"); got != "ordinary ÄÖ 日本" {
		t.Errorf("%s", got)
	}
}

func TestPeopleSeeTheBeginningOfALongList(t *testing.T) {
	names := strings.Fields("a b c d e f g h i j")
	for n, want := range map[int]string{
		0: "-", 1: "a", 9: "a, b, c, d, e, f, g, h, i", 10: "a, b, c, d, e, f, g, h and 2 more",
	} {
		if got := humanText(names[:n], NoUnit); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
