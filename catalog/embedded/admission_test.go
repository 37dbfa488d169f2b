package embedded

import (
	"net/http"
	"strings"
	"testing"
)

// admissionOf returns what the gate would know a request by.
func admissionOf(t *testing.T, of role, parameters, statement string) admission {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/?"+parameters, strings.NewReader(statement))
	if err != nil {
		t.Fatal(err)
	}
	q, err := parseRequest(r, of)
	if err != nil {
		t.Fatal(err)
	}
	st, err := q.statement(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &work{engine: &engine{}, statement: st, format: q.defaultFormat}
	w.compose()
	return q.admission(w)
}

// The gate knows a statement again only if nothing differs on which its answer depends.
func TestAnAdmissionIsForOneStatement(t *testing.T) {
	const usual, statement = "database=d&default_format=Native&max_threads=2&limit=3", "SELECT {a:String} AS a"
	of := admissionOf(t, reader, usual, statement)
	if of == (admission{}) || admissionOf(t, reader, "limit=3&param_a=1&query_id=q&max_threads=2&database=d&default_format=CSV", statement) != of {
		t.Error("a statement with another parameter, id and format of text is another one")
	}
	for _, other := range []struct{ parameters, statement string }{
		{usual, statement + " "}, {usual, statement + " FORMAT CSV"}, {usual, statement + " -- "},
		{usual + "&max_columns_to_read=1", statement}, {"database=d&default_format=Native&max_threads=23&limit=", statement},
		{"database=e&default_format=Native&max_threads=2&limit=3", statement}, {usual + "&role=r", statement},
	} {
		if a := admissionOf(t, reader, other.parameters, other.statement); a == of || a == (admission{}) {
			t.Errorf("%s %q is not told from the statement", other.parameters, other.statement)
		}
	}
	if admissionOf(t, writer, usual, statement) != (admission{}) {
		t.Error("a writer's statement is remembered")
	}
	for _, parameters := range []string{usual + "&session_id=s", "default_format=JSON"} {
		if admissionOf(t, reader, parameters, statement) != (admission{}) {
			t.Errorf("a statement with %s is remembered", parameters)
		}
	}
}

func TestTheGateRemembersStatements(t *testing.T) {
	g, a, b := newGate(), admission{1}, admission{2}
	g.remember(a)
	g.remember(admission{})
	if !g.knows(a) || g.knows(b) || g.knows(admission{}) {
		t.Error("the gate knows other statements than those that it has let through")
	}
}
