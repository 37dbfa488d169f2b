package embedded

// SetWriterGrant changes what a writer may do, in servers that are started later.
func SetWriterGrant(grant string) { writerGrant = grant }

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
