package embedded

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted // a string or a quoted identifier
	tokenNumber
	tokenSign
)

type token struct {
	kind       tokenKind
	text       string // of words and signs
	start, end int
}

func (t token) is(sign string) bool   { return t.kind == tokenSign && t.text == sign }
func (t token) word(name string) bool { return t.kind == tokenWord && strings.EqualFold(t.text, name) }

// lexer splits ClickHouse SQL into tokens, without blanks and comments; libchdb does not export the
// engine's lexer. It never fails: an unknown character is a sign, and an open string ends with the
// text. A test compares it with the engine's lexer: if one of them took a comment for a statement
// and the other did not, settings in a subquery could get past parseStatement.
type lexer struct {
	src       []byte
	at        int
	qualifies bool // the last token can have a dot behind it, and then a name or a number
}

func (l *lexer) peek() token {
	ahead := *l
	return ahead.next()
}

func (l *lexer) next() token {
	t := l.token()
	l.qualifies = t.kind == tokenWord || t.kind == tokenNumber || t.is(")") || t.is("]") || l.isQuotedName(t)
	return t
}

func (l *lexer) token() token {
	l.skipBlanks()
	start := l.at
	if start >= len(l.src) {
		return token{start: start, end: start}
	}
	c := l.src[start]
	switch {
	case strings.IndexByte("'\"`", c) >= 0:
		l.at = l.quotedEnd(start, c)
		return token{kind: tokenQuoted, start: start, end: l.at}
	case c == '$':
		if t, ok := l.dollar(start); ok {
			return t
		}
	case isWordStart(c):
		return l.word(start)
	case c == 0xe2:
		if end, ok := l.typographicEnd(start); ok {
			l.at = end
			return token{kind: tokenQuoted, start: start, end: end}
		}
	case isDigit(c):
		return l.number(start)
	case c == '.' && l.beginsNumber(start):
		return l.fraction(start)
	case bytes.HasPrefix(l.src[start:], []byte(`\G`)): // ends a statement in a client
		l.at += 2
		return token{kind: tokenSign, text: `\G`, start: start, end: l.at}
	}
	l.at++
	return token{kind: tokenSign, text: string(c), start: start, end: l.at}
}

// dollar reads a heredoc, or a word that begins with a dollar.
func (l *lexer) dollar(start int) (t token, ok bool) {
	if end, ok := l.heredocEnd(start); ok {
		l.at = end
		return token{kind: tokenQuoted, start: start, end: end}, true
	}
	if start+1 < len(l.src) && (isWordStart(l.src[start+1]) || isDigit(l.src[start+1])) {
		return l.word(start), true
	}
	return token{}, false
}

// beginsNumber reports whether the dot there begins a number.
func (l *lexer) beginsNumber(dot int) bool {
	return dot == 0 || !l.qualifies && dot+1 < len(l.src) && isDigit(l.src[dot+1])
}

// isQuotedName reports whether a token is an identifier in quotes, and not a text.
func (l *lexer) isQuotedName(t token) bool {
	quote, _ := utf8.DecodeRune(l.src[t.start:t.end])
	return t.kind == tokenQuoted && strings.ContainsRune("`\"“", quote)
}

// typographicQuotes are the quotes of word processors. They have no escapes.
var typographicQuotes = [...]struct{ open, close []byte }{{[]byte("‘"), []byte("’")}, {[]byte("“"), []byte("”")}}

// typographicEnd returns the position after such a quotation; an open quotation ends with the text.
func (l *lexer) typographicEnd(start int) (int, bool) {
	rest := l.src[start:]
	for _, q := range typographicQuotes {
		if !bytes.HasPrefix(rest, q.open) {
			continue
		}
		if end := bytes.Index(rest, q.close); end >= 0 {
			return start + end + len(q.close), true
		}
		return len(l.src), true
	}
	return 0, false
}

func (l *lexer) word(start int) token {
	for l.at < len(l.src) && (isWordStart(l.src[l.at]) || isDigit(l.src[l.at]) || l.src[l.at] == '$') {
		l.at++
	}
	return token{kind: tokenWord, text: string(l.src[start:l.at]), start: start, end: l.at}
}

func (l *lexer) number(start int) token {
	for l.at < len(l.src) && (isWordStart(l.src[l.at]) || isDigit(l.src[l.at]) || l.src[l.at] == '.') {
		l.at++
	}
	return token{kind: tokenNumber, start: start, end: l.at}
}

// fraction reads a number that begins with a dot. A word can follow at once: of 1>.5SETTINGS, SETTINGS is one.
func (l *lexer) fraction(start int) token {
	l.at = l.digits(start + 1)
	if l.at+1 < len(l.src) && l.src[l.at]|0x20 == 'e' { // digits need not follow
		l.at++
		if l.at+1 < len(l.src) && (l.src[l.at] == '-' || l.src[l.at] == '+') {
			l.at++
		}
		l.at = l.digits(l.at)
	}
	return token{kind: tokenNumber, start: start, end: l.at}
}

// digits returns the position after the digits at a position. One underscore may stand between two of them.
func (l *lexer) digits(at int) int {
	isDigitAt := func(i int) bool { return i < len(l.src) && isDigit(l.src[i]) }
	for start := at; isDigitAt(at) || at > start && l.src[at-1] != '_' && at < len(l.src) && l.src[at] == '_' && isDigitAt(at+1); {
		at++
	}
	return at
}

// lineComments are the beginnings of comments that end with the line.
var lineComments = []string{"--", "//", "#!", "# "}

func (l *lexer) skipBlanks() {
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		switch {
		case rest[0] == ' ' || (rest[0] >= '\t' && rest[0] <= '\r'):
			l.at++
		case rest[0] >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(rest)
			if !isBlank(r) {
				return
			}
			l.at += size
		case slices.ContainsFunc(lineComments, func(begin string) bool { return bytes.HasPrefix(rest, []byte(begin)) }):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest) - 1
			}
			l.at += end + 1
		case bytes.HasPrefix(rest, []byte("/*")):
			l.skipComment()
		default:
			return
		}
	}
}

// skipComment skips the comment at the current position, including nested comments.
func (l *lexer) skipComment() {
	for depth := 0; l.at < len(l.src); {
		switch rest := l.src[l.at:]; {
		case bytes.HasPrefix(rest, []byte("/*")):
			depth++
			l.at += 2
		case bytes.HasPrefix(rest, []byte("*/")):
			l.at += 2
			if depth--; depth == 0 {
				return
			}
		default:
			l.at++
		}
	}
}

// isBlank reports whether r is a blank beyond ASCII that ClickHouse skips.
func isBlank(r rune) bool {
	switch r {
	case 0x85, 0xa0, 0x180e, 0x2028, 0x2029, 0x202f, 0x205f, 0x2060, 0x3000, 0xfeff:
		return true
	}
	return r >= 0x2000 && r <= 0x200d
}

// quotedEnd returns the position after the quote that closes the one at start; a backslash or a
// doubled quote does not close it.
func (l *lexer) quotedEnd(start int, quote byte) int {
	for i := start + 1; i < len(l.src); i++ {
		switch {
		case l.src[i] == '\\':
			i++
		case l.src[i] == quote:
			if i+1 < len(l.src) && l.src[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(l.src)
}

// heredocEnd returns the position after $tag$ … $tag$.
func (l *lexer) heredocEnd(start int) (int, bool) {
	i := start + 1
	for i < len(l.src) && (isWordStart(l.src[i]) || isDigit(l.src[i])) {
		i++
	}
	if i >= len(l.src) || l.src[i] != '$' {
		return 0, false
	}
	tag := l.src[start : i+1]
	end := bytes.Index(l.src[i+1:], tag)
	if end < 0 {
		return 0, false
	}
	return i + 1 + end + len(tag), true
}

func isDigit(c byte) bool     { return c >= '0' && c <= '9' }
func isWordStart(c byte) bool { return c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z') }
