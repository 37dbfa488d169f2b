package attack

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestATerminalDoesNotObeyTenants prints an owner with a command for terminals, on a terminal, in each format, and once with --watch.
func TestATerminalDoesNotObeyTenants(t *testing.T) {
	at := newTarget(t)
	c := catalogtest.OpenMigrated(t, at.engine.Address)
	url := "http://" + at.engine.Address + "/" + c.Database()
	catalogtest.Rows(t, c, `INSERT INTO claims (cluster, uid, version, namespace, name, owner, phase, created_at)
		SELECT 'east', 'a', 1, 'shop', 'data', concat(char(27), ']0;title', char(7)), 'Bound', now64()`)
	for _, format := range catalog.Formats() {
		for _, flags := range [][]string{nil, {"--watch=1h"}} {
			t.Run(fmt.Sprint(format, flags), func(t *testing.T) {
				shown := onTerminal(t, "title", harness.Program(t, "kubevoltracker"), append([]string{"report", "never-mounted", "-o", format, "--catalog.url=" + url}, flags...)...)
				if strings.Contains(shown, "\x1b]0;") {
					t.Errorf("the terminal obeys: %q", shown)
				}
			})
		}
	}
}

// onTerminal runs a program on a terminal, and returns what the terminal gets up to the end of a line with a text.
func onTerminal(t *testing.T, text, program string, args ...string) string {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	end, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(program, args...)
	run.Stdout, run.Stderr = end, end
	err = run.Start()
	end.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill(); _ = run.Wait() }()
	var shown []byte
	for buf := make([]byte, 4096); ; {
		n, err := terminal.Read(buf)
		shown = append(shown, buf[:n]...)
		if _, after, found := strings.Cut(string(shown), text); found && strings.Contains(after, "\n") {
			return string(shown)
		}
		if err != nil {
			t.Fatalf("%v: %q", err, shown)
		}
	}
}
