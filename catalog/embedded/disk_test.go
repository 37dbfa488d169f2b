package embedded_test

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDiskOfAReaderIsLimited sends statements that write more to disk than the server of this test allows: 16 MiB of an
// answer; 16 MB of temporary data in all, and 8 MB in a statement.
func TestDiskOfAReaderIsLimited(t *testing.T) {
	const (
		limits   = `{"AnswerFile":16777216,"Temporary":16000000}`
		overlong = "SELECT repeat('x', 999) FROM numbers(20000)"
		tooLong  = "leave wait_end_of_query out (TOO_MANY_ROWS_OR_BYTES)"
		external = " SETTINGS max_threads = 1, max_bytes_before_external_group_by = 10000000" +
			", max_bytes_ratio_before_external_group_by = 0"
		small      = "SELECT count() FROM (SELECT number FROM numbers(1500000) GROUP BY number)" + external // 6 MB
		large      = "SELECT count() FROM (SELECT number FROM numbers(3000000) GROUP BY number)" + external // 13 MB
		perQuery   = "max_temporary_data_on_disk_size_for_query"
		tooMuch    = "Limit for temporary files size exceeded"
		constraint = "(SETTING_CONSTRAINT_VIOLATION)"
	)
	_, _, server := child(t, t.TempDir(), "KUBEVOLTRACKER_TEST_LIMITS="+limits)
	for _, c := range []struct {
		name, params, query string
		want                string // in the error; empty for an answer
		size                int    // of the answer; 0 for any
	}{
		{"held in a file", "wait_end_of_query=1", "SELECT repeat('x', 999) FROM numbers(12000)", "", 12_000_000},
		{"too large for its file", "wait_end_of_query=1", overlong, tooLong, 0},
		{"too large for its file, through a pipe", "wait_end_of_query=1", overlong + " FORMAT JSON", tooLong, 0},
		{"streamed", "", overlong, "", 20_000_000},
		{"the writer's", asWriter + "&wait_end_of_query=1", overlong, "", 20_000_000},
		{"temporary data", "", small, "", 0},
		{"temporary data that take the place of former ones", "", small, "", 0},
		{"once more", "", small, "", 0},
		{"too many temporary data", "", large, tooMuch, 0},
		{"too many temporary data of the writer", asWriter, large, tooMuch, 0},
		{"a limit that is raised", "", large + ", " + perQuery + " = 100000000", constraint, 0},
		{"a limit that is taken away", "", large + ", " + perQuery + " = 0", constraint, 0},
		{"a limit that is reset", "", large + ", " + perQuery + " = DEFAULT", constraint, 0},
		{"a limit that is raised in the URL", perQuery + "=100000000", large, constraint, 0},
		{"the limit for all", "", "SELECT throwIf(getSetting('max_temporary_data_on_disk_size_for_user') != 16000000)", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, err := http.Post(server+"/?"+c.params, "", strings.NewReader(c.query))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			answered := resp.StatusCode == http.StatusOK
			if answered != (c.want == "") || !strings.Contains(string(body), c.want) || c.size != 0 && len(body) != c.size {
				t.Errorf("%s, %d bytes: %.300s", resp.Status, len(body), body)
			}
		})
	}
}

// TestReadersLeaveRoomOnTheDisk sends statements that write to disk, where the server of this test is to leave more free than
// there is.
func TestReadersLeaveRoomOnTheDisk(t *testing.T) {
	const (
		held    = "SELECT repeat('x', 999) FROM numbers(12000)"
		sorts   = "SELECT number FROM numbers(3000000) ORDER BY sipHash64(number) LIMIT 1 OFFSET 1000000 SETTINGS max_bytes_before_external_sort = 1000000, max_bytes_ratio_before_external_sort = 0"
		groups  = "SELECT count() FROM (SELECT number FROM numbers(3000000) GROUP BY number) SETTINGS max_bytes_before_external_group_by = 10000000, max_bytes_ratio_before_external_group_by = 0"
		noSpace = "(NOT_ENOUGH_SPACE)"
		keep    = "min_free_disk_space_for_temporary_data"
	)
	_, _, server := child(t, t.TempDir(), `KUBEVOLTRACKER_TEST_LIMITS={"KeepFree":1000000000000000000}`)
	for _, c := range []struct{ name, params, query, want string }{
		{"held in a file", "wait_end_of_query=1", held, "leave wait_end_of_query out " + noSpace},
		{"held in a file, through a pipe", "wait_end_of_query=1", held + " FORMAT JSON", "leave wait_end_of_query out " + noSpace},
		{"held in memory", "wait_end_of_query=1", "SELECT 1", "1\n"},
		{"sorted", "", sorts, noSpace},
		{"sorted, with the setting", keep + "=0", sorts, "(SETTING_CONSTRAINT_VIOLATION)"},
		{"grouped", "", groups, noSpace},
		{"grouped, with the setting", "", groups + ", " + keep + " = 0", "(SETTING_CONSTRAINT_VIOLATION)"},
		{"of the writer, with the setting", asWriter, groups + ", " + keep + " = 0", "(SETTING_CONSTRAINT_VIOLATION)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, err := http.Post(server+"/?"+c.params, "", strings.NewReader(c.query))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), c.want) {
				t.Errorf("%.300s, %v", body, err)
			}
		})
	}
}

// TestASlowReaderLosesItsAnswer reads answers of 100 MB, 64 KiB at a time, for longer than a reader's statement may take.
// The server then ends the answer, its file and its statement. Without that limit the rest would arrive.
func TestASlowReaderLosesItsAnswer(t *testing.T) {
	const timeout = 4 * time.Second
	_, _, server := child(t, t.TempDir(), `KUBEVOLTRACKER_TEST_LIMITS={"ReaderTimeout":`+strconv.FormatInt(int64(timeout), 10)+`}`)
	const rows, row = "SELECT repeat('x', 999) FROM numbers(100000)", "SELECT repeat(repeat('x', 1000), 100000)"
	for _, c := range []struct{ name, params, query string }{
		{"held", "wait_end_of_query=1&", rows}, {"streamed", "", rows}, {"streamed as one block", "", row},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			resp, err := http.Get(server + "/?enable_http_compression=0&" + c.params + "query=" + url.QueryEscape(c.query))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status)
			}
			for began := time.Now(); err == nil && time.Since(began) < timeout+time.Second; {
				_, err = io.CopyN(io.Discard, resp.Body, 64<<10)
				time.Sleep(50 * time.Millisecond)
			}
			rest, err := io.Copy(io.Discard, resp.Body)
			if err == nil || rest > 50<<20 {
				t.Errorf("after the reader's time %d more bytes arrive: %v", rest, err)
			}
		})
	}
}
