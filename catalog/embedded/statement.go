package embedded

import (
	"bytes"
	"context"
	"strings"
)

// statement is the part of a query that this interface must know before the engine parses it: where
// it names its output or input format, and where inserted data begins. The engine's own parser does
// the rest, and says what the statement does (see admit).
type statement struct {
	source []byte // all that the client sent
	text   []byte // the statement without its FORMAT clause, inserted data and final semicolon
	kind   string // its first keyword in capitals: SELECT, INSERT, CREATE, …; after WITH …, the keyword that follows
	format string // named by its FORMAT clause, or ""
	suffix []byte // the text after the FORMAT clause of a query (SETTINGS …)

	// The engine checks the limits of settings in none of these cases.
	resetsSetting bool   // whether it has SETTINGS name = DEFAULT
	innerSettings bool   // whether it has SETTINGS elsewhere than at its end
	hidesSQL      string // which text in it may hide SQL, in which the engine checks no settings either; empty if none does

	settings []string // the settings in SETTINGS; those of a normal form for sure
	calls    []string // the names before a bracket: of functions, table functions and others

	insertsData bool   // an INSERT whose rows follow, and not INSERT … SELECT
	data        []byte // the rows in the text itself
}

// parseStatement parses one statement. The text need not contain the rows of an INSERT: they can
// follow in the request's body.
func parseStatement(ctx context.Context, text []byte) (*statement, error) {
	return (&parser{lex: lexer{src: text}}).parse(ctx)
}

// parseNormal parses a statement as the engine writes it (see normalForm): it has no comments, writes a SELECT that was left
// out, and writes a setting as name = value. So it is known for sure what is a setting, and whether SETTINGS begins a clause or is
// a name.
func parseNormal(ctx context.Context, text []byte) (*statement, error) {
	return (&parser{lex: lexer{src: text}, normal: true}).parse(ctx)
}

const (
	// maxDollarWords is how many words of a statement may begin with $. The lexer, and that of the engine, looks for the end
	// of a heredoc behind each of them, up to the end of the text: 150,000 words in 1 MiB would take minutes.
	maxDollarWords = 100
	// checkEvery is after how many tokens the parser looks whether somebody still waits for it.
	checkEvery = 1000
)

func (p *parser) parse(ctx context.Context) (*statement, error) {
	p.s, p.semicolon, p.format, p.settings = &statement{source: p.lex.src}, -1, -1, -1
	for t := p.lex.next(); t.kind != tokenEnd; t = p.lex.next() {
		if p.n%checkEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := p.refuse(t); err != nil {
			return nil, err
		}
		p.count(t)
		p.findSettings(t)
		p.nameSetting(t)
		p.findHidden(t)
		if p.normal { // its clauses are of no use, and a name in it can look like the word that begins one
			p.prev = t
			continue
		}
		switch p.clause(t) {
		case rowsFollow:
			return p.s, nil
		case goOn:
			p.prev = t
		case isCall:
		}
	}
	if p.s.kind == "" {
		return nil, newException(codeSyntaxError, "Syntax error: failed at position 1 (end of query): . Empty query")
	}
	p.finish()
	return p.s, nil
}

// parser reads a statement token by token. There is no library for it: libchdb does not
// export ClickHouse's parser, and those written in Go know less SQL than the engine.
type parser struct {
	s          *statement
	lex        lexer
	normal     bool  // the engine has written the statement
	prev       token // the last token
	n          int   // number of tokens, with the current one
	dollars    int   // number of words that begin with $
	depth      int   // number of open brackets
	semicolon  int   // its position, or -1; likewise for the next two
	format     int   // a query's FORMAT clause
	settings   int   // the SETTINGS after that
	fromSelect bool  // INSERT … SELECT
	values     bool  // INSERT … VALUES
	inSettings bool  // SETTINGS came before
	clauseAt   int   // number of open brackets where it came
	queries    bool  // SELECT or FROM came before, in brackets or outside

	// Outside of brackets.
	selects bool // SELECT came before
	settles bool // SETTINGS of a SELECT came before
}

// step says how the parser continues after a token.
type step int

const (
	goOn       step = iota
	isCall          // FORMAT name was not a clause: a bracket follows
	rowsFollow      // the rest of the text contains rows
)

// refuse returns why a server would refuse the statement because of the token t.
func (p *parser) refuse(t token) error {
	text := p.lex.src
	if t.kind == tokenWord && t.text[0] == '$' {
		p.dollars++
	}
	switch {
	case p.semicolon >= 0:
		return newException(codeSyntaxError,
			"Syntax error (Multi-statements are not allowed): failed at position %d (end of query): ; %.100s. ", p.semicolon+1, bytes.TrimSpace(text[p.semicolon+1:]))
	case p.s.kind == "" && t.kind != tokenWord && !t.is("(") && !t.is(";"):
		// libchdb would skip the rest, as a client skips what it does not understand.
		return newException(codeSyntaxError, "Syntax error: failed at position %d: %.100s. ", t.start+1, bytes.ToValidUTF8(text[t.start:], []byte("?")))
	case p.dollars > maxDollarWords:
		return newException(codeSyntaxError, "Syntax error: more than %d words begin with $; put names in quotes", maxDollarWords)
	}
	return nil
}

// findSettings looks for settings that the engine would not check. The engine checks the settings of a statement, and of the
// last SELECT of a union. It applies those of earlier SELECTs, of subqueries, and of DESCRIBE SELECT without a check.
func (p *parser) findSettings(t token) {
	p.queries = p.queries || t.word("SELECT") || t.word("FROM")
	switch {
	case p.inSettings && p.prev.is("=") && t.word("DEFAULT"):
		p.s.resetsSetting = true
	case p.depth <= 0 && t.word("SELECT"):
		p.selects = true
	case p.depth <= 0 && p.settles && (t.word("UNION") || t.word("INTERSECT") || t.word("EXCEPT")):
		p.s.innerSettings = true
	case t.word("SETTINGS") && p.beginsClause():
		p.inSettings, p.clauseAt = true, p.depth
		p.beginSettings()
	}
}

// beginsClause reports whether the word SETTINGS, which came last, may begin a clause. In a normal form it does if a name, which may
// have dots, and = follow; else it is a name itself.
func (p *parser) beginsClause() bool {
	if p.normal && p.prev.is(".") {
		return false
	}
	for ahead := p.lex; p.normal; {
		if name := ahead.next(); name.kind == tokenSign || name.kind == tokenEnd {
			return false
		}
		if t := ahead.next(); !t.is(".") {
			return t.is("=")
		}
	}
	return true
}

// nameSetting records the setting that follows the token t.
func (p *parser) nameSetting(t token) {
	if p.inSettings && p.depth == p.clauseAt && (t.word("SETTINGS") || t.is(",")) {
		name, _ := p.identifier(p.lex.peek())
		p.s.settings = append(p.s.settings, name)
	}
}

// beginSettings handles the word SETTINGS. A name follows it, which may begin with a digit, and need be no setting's:
// the engine ignores others where it does not check. A value need not follow: SETTINGS final.
func (p *parser) beginSettings() {
	name := p.lex.peek()
	switch {
	case p.prev.is("."), name.kind == tokenSign, name.kind == tokenEnd: // a table or a column
	case p.depth > 0 && !p.queries: // a column of CREATE or INSERT
	case p.depth > 0, p.selects && (p.s.kind == "DESCRIBE" || p.s.kind == "DESC"):
		p.s.innerSettings = true
	case p.selects:
		p.settles = true
	}
}

// count counts the token and the open brackets, and records the statement's kind and end.
func (p *parser) count(t token) {
	p.n++
	switch {
	case t.is("("), t.is("["), t.is("{"):
		p.depth++
	case t.is(")"), t.is("]"), t.is("}"):
		p.depth--
	case t.is(";") && p.depth <= 0:
		p.semicolon = t.start
	case t.kind == tokenWord && p.s.kind == "":
		p.s.kind = strings.ToUpper(t.text)
	}
}

// clause handles the words that begin a clause.
func (p *parser) clause(t token) step {
	switch {
	case t.kind != tokenWord, p.prev.is("."), p.prev.word("AS"): // a name
	case p.depth == 1 && p.s.kind == "INSERT" && t.word("SELECT") && p.prev.is("("): // INSERT INTO t (SELECT …)
		p.fromSelect = p.fromSelect || p.n > 2 && !p.values
	case p.depth != 0:
	case p.s.kind == "INSERT":
		return p.insertClause(t)
	case p.s.kind == "WITH" && t.word("SELECT"):
		p.s.kind = "SELECT"
	case p.s.kind == "WITH" && p.insertsBehindWith(t):
		p.s.kind, p.fromSelect = "INSERT", true
	case t.word("FORMAT"):
		p.queryFormat(t)
	}
	return goOn
}

// insertsBehindWith reports whether the word t is INSERT, and not the name of a query: WITH insert AS (…) SELECT ….
func (p *parser) insertsBehindWith(t token) bool {
	next := p.lex.peek()
	return t.word("INSERT") && !next.word("AS") && !next.is("(")
}

func (p *parser) insertClause(t token) step {
	isTable := p.prev.word("TABLE") || p.prev.word("INTO")
	switch {
	case t.word("SELECT"), t.word("WITH"):
		p.fromSelect = p.fromSelect || p.n > 2
	case t.word("VALUES") && p.n > 3 && !isTable && !p.fromSelect && !p.values:
		p.values = true
		p.s.text, p.s.data = p.lex.src[:t.start], p.lex.src[t.end:]
	case t.word("FORMAT") && !isTable && !p.values:
		return p.insertFormat(t)
	case t.word("FORMAT"):
		p.queryFormat(t)
	}
	return goOn
}

func (p *parser) insertFormat(t token) step {
	name := p.lex.peek()
	if name.kind != tokenWord {
		return goOn
	}
	p.lex.next()
	text := p.lex.src
	switch {
	case !p.fromSelect:
		p.s.text, p.s.format, p.s.insertsData = trimEnd(text[:t.start]), name.text, true
		p.s.data = text[dataStart(text, name.end):]
	case p.lex.peek().is("("):
		return isCall
	default:
		p.s.format = name.text // INSERT … SELECT … FROM input(…) FORMAT f
	}
	return rowsFollow
}

// queryFormat takes FORMAT as a clause, not as a name, if an identifier follows and then nothing
// but settings or the end.
func (p *parser) queryFormat(t token) {
	if p.n == 1 || p.prev.is(",") {
		return
	}
	ahead := p.lex
	name, after := ahead.next(), ahead.peek()
	if name.kind != tokenWord || after.kind != tokenEnd && !after.is(";") && !after.word("SETTINGS") {
		return
	}
	p.format, p.settings, p.s.format = t.start, -1, name.text
	if after.word("SETTINGS") {
		p.settings = after.start
	}
}

// finish cuts the text after its last token.
func (p *parser) finish() {
	s, text := p.s, p.lex.src
	end := len(text)
	if p.semicolon >= 0 {
		end = p.semicolon
	}
	switch {
	case p.values:
		s.format, s.insertsData = "Values", true
		s.data = text[len(text)-len(s.data) : end]
		s.text = trimEnd(s.text)
	case s.kind == "INSERT" && !p.fromSelect:
		s.format, s.insertsData = "Values", true // the format that a server assumes for rows by default
		s.text = trimEnd(text[:end])
	case p.format >= 0:
		s.text = trimEnd(text[:p.format])
		if p.settings >= 0 {
			s.suffix = bytes.TrimSpace(text[p.settings:end])
		}
	default:
		s.text = trimEnd(text[:end])
	}
}

// dataStart returns where rows begin after "FORMAT name": at the first newline if only blanks
// precede it, otherwise at the first character that is not a blank.
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

// reads reports whether the statement returns what it reads.
func (s *statement) reads() bool {
	switch s.kind {
	case "SELECT", "FROM", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS", "WITH":
		return true
	}
	return false
}

// selects reports whether the statement is a SELECT, which the engine can stream.
func (s *statement) selects() bool { return s.kind == "SELECT" || s.kind == "FROM" }

// changesSession reports whether the statement changes its session, and nothing that outlives it.
func (s *statement) changesSession() bool { return s.kind == "USE" || s.kind == "SET" }

func trimEnd(b []byte) []byte { return bytes.TrimRight(b, " \t\r\n\f\v") }
