package embedded

import "strings"

// contentType returns the Content-Type that a server sends for a format.
func contentType(format string) string {
	f := strings.ToLower(format)
	switch {
	case strings.HasPrefix(f, "tabseparated"), strings.HasPrefix(f, "tsv"), f == "tskv":
		return "text/tab-separated-values; charset=UTF-8"
	case f == "csvwithnames", f == "csvwithnamesandtypes":
		return "text/csv; charset=UTF-8; header=present"
	case strings.HasPrefix(f, "csv"):
		return "text/csv; charset=UTF-8"
	case strings.Contains(f, "eachrow"), f == "jsonlines", f == "ndjson":
		return "application/x-ndjson; charset=UTF-8"
	case strings.HasPrefix(f, "json"):
		return "application/json; charset=UTF-8"
	case f == "xml":
		return "application/xml; charset=UTF-8"
	case strings.HasPrefix(f, "pretty"), f == "vertical", f == "values", f == "markdown", f == "sqlinsert", f == "lineasstring", f == "null", strings.HasPrefix(f, "template"), strings.HasPrefix(f, "customseparated"):
		return "text/plain; charset=UTF-8"
	}
	return "application/octet-stream"
}
