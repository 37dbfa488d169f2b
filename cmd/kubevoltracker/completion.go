package main

import (
	"bytes"
	"io"
	"text/template"

	"github.com/alecthomas/kingpin/v2"
)

// fishCompletion asks the program for completions, as the scripts of kingpin for bash and zsh do.
const fishCompletion = `function __{{.}}_complete
    set --local words (commandline --tokenize-at-cursor --current-process 2>/dev/null; or commandline -opc)
    $words[1] --completion-bash $words[2..-1] (commandline --current-token)
end
complete --command {{.}} --no-files --arguments '(__{{.}}_complete)'
`

// completionScripts are templates of the scripts, by shell.
func completionScripts() map[string]string {
	return map[string]string{"bash": kingpin.BashCompletionTemplate, "zsh": kingpin.ZshCompletionTemplate, "fish": fishCompletion}
}

func addCompletion(application *kingpin.Application, commands map[string]command, stdout io.Writer) {
	completion := application.Command("completion", "Print a script by which a shell completes commands, reports and flags.")
	for _, shell := range []struct{ name, help string }{
		{"bash", "For bash: source <(kubevoltracker completion bash)"},
		{"zsh", "For zsh, after compinit: source <(kubevoltracker completion zsh)"},
		{"fish", "For fish: kubevoltracker completion fish | source"},
	} {
		cmd := completion.Command(shell.name, shell.help+".")
		commands[cmd.FullCommand()] = func() error {
			text, err := completionScript(shell.name, application.Name)
			if err != nil {
				return err
			}
			_, err = io.WriteString(stdout, text)
			return err
		}
	}
}

// completionScript returns the script of a shell for a program.
func completionScript(shell, program string) (string, error) {
	t, err := template.New(shell).Parse(completionScripts()[shell])
	if err != nil {
		return "", err
	}
	var data any = program
	if shell != "fish" {
		data = map[string]any{"App": map[string]string{"Name": program}} // what kingpin's templates read
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.String(), err
}
