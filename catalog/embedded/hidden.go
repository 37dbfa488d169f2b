package embedded

import (
	"regexp"
	"slices"
	"strings"
)

// A text can hide SQL from the gate: the engine evaluates the parameters in the name of an aggregate function, and the
// defaults of columns in a structure, which it reads before it checks rights. A subquery there may have SETTINGS that the engine
// does not check. So a reader's names and structures have to be plain texts. Table functions that readers have no use for are
// refused: see readerTables.

// evaluators are the functions that take the name of an aggregate function as a text.
var evaluators = []string{"arrayReduce", "arrayReduceInRanges", "initializeAggregation"}

// schemas are functions that read a structure. They need no bracket: * APPLY structureToProtobufSchema.
var schemas = []string{"structureToCapnProtoSchema", "structureToProtobufSchema"}

var (
	aggregateName = regexp.MustCompile(`^[A-Za-z0-9_]+(\([-0-9.e, ]*\))?$`)
	readsSQL      = regexp.MustCompile(`(?i)arrayReduce|initializeAggregation|structureTo|\\[^'nt]`)
)

// plainStructure reports whether no SQL hides in a structure.
func plainStructure(text string) bool { return !readsSQL.MatchString(text) }

// checkStructure returns why the structure of an external table is refused.
func checkStructure(table, structure string) error {
	switch {
	case !plainStructure(structure):
		return newException(codeAccessDenied, "The structure of the external table %s has a backslash, or a function that is not allowed there", table)
	case strings.Contains(structure, "AggregateFunction"): // the engine does not count what the states of some functions take
		return newException(codeAccessDenied, "The structure of the external table %s has a state of an aggregate function, which is not allowed there", table)
	}
	return nil
}

// findHidden looks at a name for a function by which SQL may hide in a text.
func (p *parser) findHidden(t token) {
	name, plain := p.identifier(t)
	is := func(other string) bool { return strings.EqualFold(name, other) }
	switch {
	case p.s.hidesSQL != "": // one is enough
	case !plain && !p.normal: // the engine has written the name out
		p.s.hidesSQL = "a backslash in a name is not allowed"
	case slices.ContainsFunc(schemas, is):
		p.s.hidesSQL = name + " is not allowed"
	case p.lex.peek().is("("):
		p.s.calls = append(p.s.calls, name)
		p.findHiddenCall(name, is)
	}
}

// findHiddenCall looks at the call of the function is, behind its name.
func (p *parser) findHiddenCall(name string, is func(string) bool) {
	arguments := p.lex
	arguments.next()
	switch {
	case slices.ContainsFunc(evaluators, is) && !p.plainAggregate(arguments):
		p.s.hidesSQL = name + " takes its aggregate function as a text with numbers at most, such as 'quantile(0.5)'"
	case is("values") && !p.plainValues(arguments):
		p.s.hidesSQL = name + " begins with a plain structure, a number or a tuple"
	case is("format") && !p.plainFormat(arguments):
		p.s.hidesSQL = name + " takes its structure as a plain text, without backslashes and functions that read SQL; to put texts together, use concat or printf"
	}
}

// plainAggregate reports whether the first argument is the name of an aggregate function in a text, with numbers at most.
func (p *parser) plainAggregate(arguments lexer) bool {
	text, isText := p.text(arguments.next())
	return isText && aggregateName.MatchString(text) && arguments.next().is(",")
}

// plainValues reports whether the table function values begins with a plain structure, with a number or with a tuple. Other
// expressions can come to a structure.
func (p *parser) plainValues(arguments lexer) bool {
	first := arguments.next()
	text, isText := p.text(first)
	if first.is("(") {
		return isTuple(arguments)
	}
	after := arguments.next()
	return (first.kind == tokenNumber || isText && plainStructure(text)) && (after.is(",") || after.is(")"))
}

// firstOfTuple is how many tokens the first value of a tuple may have.
const firstOfTuple = 200

// isTuple reports whether a comma stands in the bracket that is open, behind its first value.
func isTuple(inside lexer) bool {
	for depth, n := 1, 0; depth > 0 && n < firstOfTuple; n++ {
		switch t := inside.next(); {
		case t.kind == tokenEnd, depth == 1 && t.is(","):
			return t.kind != tokenEnd
		case t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			depth--
		}
	}
	return false
}

// plainFormat reports whether the arguments of the table function format behind the first one are a text with the data, or a
// plain structure and the data. It refuses most calls of the ordinary function format, too, because a statement can use either
// in the same place, and the engine reads the structure even where no format has the name in the first argument.
func (p *parser) plainFormat(arguments lexer) bool {
	arguments.next()
	comma := arguments.next()
	text, isText := p.text(arguments.next())
	after := arguments.next()
	return comma.is(",") && isText && (after.is(")") || after.is(",") && plainStructure(text))
}

// identifier returns a word, or the name in a quoted identifier; plain is whether it is written without escapes.
func (p *parser) identifier(t token) (name string, plain bool) {
	switch {
	case t.kind == tokenWord:
		return t.text, true
	case !p.lex.isQuotedName(t):
		return "", true
	}
	name = strings.Trim(string(p.lex.src[t.start:t.end]), "`\"“”")
	return name, !strings.Contains(name, `\`)
}

// text returns a text as it is written, without its quotes.
func (p *parser) text(t token) (text string, isText bool) {
	if t.kind != tokenQuoted || p.lex.isQuotedName(t) {
		return "", false
	}
	return strings.Trim(string(p.lex.src[t.start:t.end]), "'‘’"), true
}
