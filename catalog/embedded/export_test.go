package embedded

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Limit sets limits of a server that is to start; 0 leaves one as it is.
func (o *Options) Limit(patience time.Duration, answerFile, temporary, keepFree int64) {
	o.limits = limits{
		patience:   cmp.Or(patience, standardLimits.patience),
		answerFile: cmp.Or(answerFile, standardLimits.answerFile),
		temporary:  cmp.Or(temporary, standardLimits.temporary),
		keepFree:   keepFree,
	}
}

// SetWriterGrant changes what a writer may do, in servers that are started later.
func SetWriterGrant(grant string) { writerGrant = grant }

// ReaderSettings are the settings that readers may give.
func ReaderSettings() []string { return slices.Collect(maps.Keys(readerSettings)) }

// WordsAndQuotes are the places of the words and quoted texts that the lexer finds.
func WordsAndQuotes(src string) [][2]int {
	lex := lexer{src: []byte(src)}
	var out [][2]int
	for t := lex.next(); t.kind != tokenEnd; t = lex.next() {
		if t.kind == tokenWord || t.kind == tokenQuoted {
			out = append(out, [2]int{t.start, t.end})
		}
	}
	return out
}
