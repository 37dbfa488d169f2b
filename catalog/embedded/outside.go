package embedded

import (
	"regexp"
	"strconv"
	"strings"
)

// outsideCalls are calls that reach a file or a host and that no grant of the engine covers: the
// scalar function file, a disk or a backup that a statement describes itself, a database with
// another server's tables. They are a second fence behind the grants (usersConfig). The fence does
// not see text that a statement builds at run time.
var outsideCalls = map[string]bool{"file": true, "disk": true, "s3": true, "azureblobstorage": true, "datalakecatalog": true}

// reachesOut reports whether called, which an opening parenthesis follows, is one of these calls,
// and not the name of a table whose columns follow.
func reachesOut(text []byte, called, before token) bool {
	name := called.text
	switch called.kind {
	case tokenQuoted:
		name = unquoteName(string(text[called.start:called.end]))
	case tokenWord:
	default:
		return false
	}
	return outsideCalls[strings.ToLower(name)] &&
		!before.word("INTO") && !before.word("TABLE") && !before.word("EXISTS") && !before.is(".")
}

var escapeOfName = regexp.MustCompile(`\\(?:x[0-9a-fA-F]{2}|.)`)

// unquoteName removes the quotes and escapes of an identifier; it returns "" for a string.
func unquoteName(quoted string) string {
	for _, quote := range []struct{ open, close string }{{"`", "`"}, {`"`, `"`}, {"“", "”"}} {
		if name, ok := strings.CutPrefix(quoted, quote.open); ok {
			return escapeOfName.ReplaceAllStringFunc(strings.TrimSuffix(name, quote.close), func(e string) string {
				if n, err := strconv.ParseUint(e[2:], 16, 8); err == nil && e[1] == 'x' && len(e) == 4 {
					return string([]byte{byte(n)})
				}
				return e[1:]
			})
		}
	}
	return ""
}
