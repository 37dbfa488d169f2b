package embedded

import (
	"bytes"
	"strings"
)

// statement is what this interface must know of a query before the engine parses it:
// where the output or input format is named, where inserted data begins, and what a
// server would refuse. Everything else is left to the engine's own parser.
type statement struct {
	text   []byte // the statement without its FORMAT clause, inserted data and final semicolon
	kind   string // its first keyword in capitals: SELECT, INSERT, CREATE, …; behind WITH, the one that follows
	format string // named by its FORMAT clause, or ""
	suffix []byte // what followed the FORMAT clause of a query (SETTINGS …)

	insertsData bool   // INSERT whose rows follow, rather than INSERT … SELECT
	data        []byte // the rows that were part of the text itself
}

// parseStatement splits one statement. Rows of an INSERT may be missing from the text:
// they can follow elsewhere, in the request's body.
func parseStatement(text []byte) (*statement, error) {
	s := &statement{}
	lex := lexer{src: text}
	var prev, before token
	depth, n := 0, 0
	first := true
	formatStart, settingsStart := -1, -1
	semicolon := -1
	isSelectInsert, isValues := false, false
	for {
		t := lex.next()
		if t.kind == tokenEnd {
			break
		}
		if semicolon >= 0 {
			return nil, newException(codeSyntaxError,
				"Syntax error (Multi-statements are not allowed): failed at position %d (end of query): ; %.100s. ", semicolon+1, bytes.TrimSpace(text[semicolon+1:]))
		}
		n++
		if first && t.kind != tokenWord && !t.is("(") && !t.is(";") {
			// libchdb would skip it to the end, as a client skips what it does not understand.
			return nil, newException(codeSyntaxError, "Syntax error: failed at position %d: %.100s. ", t.start+1, bytes.ToValidUTF8(text[t.start:], []byte("?")))
		}
		if (t.word("OUTFILE") && prev.word("INTO")) || (t.word("INFILE") && prev.word("FROM")) {
			return nil, newException(codeIntoOutfile, "INTO OUTFILE and FROM INFILE are not allowed")
		}
		if t.is("(") && reachesOut(text, prev, before) {
			return nil, newException(codeAccessDenied, "default: Not enough privileges. %s is not allowed", text[prev.start:prev.end])
		}
		switch {
		case t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			depth--
		case t.is(";") && depth <= 0:
			semicolon = t.start
		}
		if first && t.kind == tokenWord {
			s.kind, first = strings.ToUpper(t.text), false
		}
		if depth == 0 && t.kind == tokenWord && !prev.is(".") && !prev.word("AS") {
			switch {
			case s.kind == "WITH" && t.word("SELECT"):
				s.kind = "SELECT"
			case s.kind == "WITH" && t.word("INSERT"):
				s.kind, isSelectInsert = "INSERT", true
			case s.kind == "INSERT" && n > 2 && !isSelectInsert && (t.word("SELECT") || t.word("WITH")):
				isSelectInsert = true
			case s.kind == "INSERT" && n > 3 && !isSelectInsert && !isValues && t.word("VALUES") && !prev.word("TABLE") && !prev.word("INTO"):
				isValues = true
				s.text, s.data = text[:t.start], text[t.end:]
			case s.kind == "INSERT" && t.word("FORMAT") && !prev.word("INTO") && !prev.word("TABLE") && !isValues:
				if name := lex.peek(); name.kind == tokenWord {
					lex.next()
					if isSelectInsert {
						if lex.peek().is("(") {
							continue
						}
						s.format = name.text // INSERT … SELECT … FROM input(…) FORMAT f: rows follow
						return s, nil
					}
					s.text, s.format, s.insertsData = trimEnd(text[:t.start]), name.text, true
					s.data = text[dataStart(text, name.end):]
					return s, nil
				}
			case t.word("FORMAT") && !prev.is(",") && n > 1:
				// A clause, not a name, if an identifier follows and then nothing but
				// settings or the end.
				mark := lex
				name := lex.next()
				after := lex.peek()
				if name.kind == tokenWord && (after.kind == tokenEnd || after.is(";") || after.word("SETTINGS")) {
					formatStart, settingsStart, s.format = t.start, -1, name.text
					if after.word("SETTINGS") {
						settingsStart = after.start
					}
				}
				lex = mark
			}
		}
		if s.kind == "INSERT" && n > 2 && !isSelectInsert && !isValues && t.word("SELECT") && depth == 1 && prev.is("(") {
			isSelectInsert = true
		}
		before, prev = prev, t
	}
	if first {
		return nil, newException(codeSyntaxError, "Syntax error: failed at position 1 (end of query): . Empty query")
	}
	end := len(text)
	if semicolon >= 0 {
		end = semicolon
	}
	switch {
	case isValues:
		s.format, s.insertsData = "Values", true
		s.data = text[len(text)-len(s.data) : end]
		s.text = trimEnd(s.text)
	case s.kind == "INSERT" && !isSelectInsert:
		s.format, s.insertsData = "Values", true // what a server takes rows for when nothing says otherwise
		s.text = trimEnd(text[:end])
	case formatStart >= 0:
		s.text = trimEnd(text[:formatStart])
		if settingsStart >= 0 {
			s.suffix = bytes.TrimSpace(text[settingsStart:end])
		}
	default:
		s.text = trimEnd(text[:end])
	}
	return s, nil
}

// dataStart is where rows begin after "FORMAT name": at the first newline if only
// blanks precede it, otherwise at the first character that is not a blank.
func dataStart(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\f') {
		at++
	}
	if at < len(text) && text[at] == ';' {
		at++
	}
	if at < len(text) && text[at] == '\r' {
		at++
	}
	if at < len(text) && text[at] == '\n' {
		at++
	}
	return at
}

// reads tells that the statement changes nothing but its session.
func (s *statement) reads() bool {
	switch s.kind {
	case "SELECT", "FROM", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS", "USE", "SET":
		return true
	}
	return false
}

func trimEnd(b []byte) []byte { return bytes.TrimRight(b, " \t\r\n\f\v") }
