package embedded

import (
	"bytes"
	"strings"
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

// lexer cuts ClickHouse SQL into tokens, leaving out blanks and comments. It never
// fails: what it does not know is a sign, and an open string ends with the text.
type lexer struct {
	src []byte
	at  int
}

func (l *lexer) peek() token {
	ahead := *l
	return ahead.next()
}

func (l *lexer) next() token {
	l.skipBlanks()
	start := l.at
	if start >= len(l.src) {
		return token{start: start, end: start}
	}
	c := l.src[start]
	switch {
	case c == '\'' || c == '"' || c == '`':
		l.at = l.quotedEnd(start, c)
		return token{kind: tokenQuoted, start: start, end: l.at}
	case c == '$':
		if end, ok := l.heredocEnd(start); ok {
			l.at = end
			return token{kind: tokenQuoted, start: start, end: end}
		}
	case isWordStart(c):
		for l.at < len(l.src) && (isWordStart(l.src[l.at]) || isDigit(l.src[l.at]) || l.src[l.at] == '$') {
			l.at++
		}
		return token{kind: tokenWord, text: string(l.src[start:l.at]), start: start, end: l.at}
	case isDigit(c):
		for l.at < len(l.src) && (isWordStart(l.src[l.at]) || isDigit(l.src[l.at]) || l.src[l.at] == '.') {
			l.at++
		}
		return token{kind: tokenNumber, start: start, end: l.at}
	}
	l.at++
	return token{kind: tokenSign, text: string(c), start: start, end: l.at}
}

func (l *lexer) skipBlanks() {
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		switch {
		case rest[0] == ' ' || (rest[0] >= '\t' && rest[0] <= '\r'):
			l.at++
		case bytes.HasPrefix(rest, []byte("\u00a0")):
			l.at += len("\u00a0")
		case bytes.HasPrefix(rest, []byte("\ufeff")):
			l.at += len("\ufeff")
		case bytes.HasPrefix(rest, []byte("--")), bytes.HasPrefix(rest, []byte("#!")), bytes.HasPrefix(rest, []byte("# ")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest) - 1
			}
			l.at += end + 1
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				l.at = len(l.src)
				return
			}
			l.at += 2 + end + 2
		default:
			return
		}
	}
}

// quotedEnd is just behind the quote that closes the one at start; a backslash or a
// doubled quote keeps it open.
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

// heredocEnd is just behind $tag$ … $tag$.
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
