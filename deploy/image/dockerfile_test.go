package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// stages returns the Dockerfile's stages, as Docker's own parser reads them.
func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	f, err := os.Open("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parsed, err := parser.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

func TestDockerfileConfiguresAsTheProgramDoes(t *testing.T) {
	all := stages(t)
	for _, k := range kinds {
		at := slices.IndexFunc(all, func(s instructions.Stage) bool { return s.Name == k.name })
		if at < 0 {
			t.Errorf("no target %s", k.name)
			continue
		}
		if all[at].BaseName != "scratch" {
			t.Errorf("%s is based on %s", k.name, all[at].BaseName)
		}
		want := k.config(&source{version: "$VERSION", revision: "$REVISION"})
		// Known only to the build itself, and without a meaning in it.
		delete(want.Labels, "org.opencontainers.image.created")
		delete(want.Labels, "org.opencontainers.image.base.name")
		checkStage(t, k, all[at], want.User, want.WorkingDir, want.Entrypoint, want.Env, want.Labels)
	}
}

func checkStage(t *testing.T, k kind, s instructions.Stage, user, dir string, entrypoint, env []string, labels map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, command := range s.Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			equal(t, k.name+": USER", c.User, user)
		case *instructions.WorkdirCommand:
			equal(t, k.name+": WORKDIR", c.Path, dir)
		case *instructions.EntrypointCommand:
			equal(t, k.name+": ENTRYPOINT", strings.Join(c.CmdLine, " "), strings.Join(entrypoint, " "))
		case *instructions.ExposeCommand:
			equal(t, k.name+": EXPOSE", strings.Join(c.Ports, " "), k.port)
		case *instructions.EnvCommand:
			equal(t, k.name+": ENV", variables(c.Env), strings.Join(env, " "))
		case *instructions.LabelCommand:
			for _, label := range c.Labels {
				got[label.Key] = strings.Trim(label.Value, `"`)
			}
			for key, value := range labels {
				equal(t, k.name+": LABEL "+key, got[key], value)
			}
		case *instructions.CopyCommand:
			equal(t, k.name+": COPY --from", c.From, k.name+"-files")
		case *instructions.ArgCommand:
			continue
		default:
			t.Errorf("%s: %s is not compared with the program", k.name, command.Name())
		}
		got[command.Name()] = "seen"
	}
	for _, name := range []string{"USER", "WORKDIR", "ENTRYPOINT", "EXPOSE", "ENV", "LABEL", "COPY"} {
		if got[name] == "" && got[strings.ToLower(name)] == "" {
			t.Errorf("%s: no %s", k.name, name)
		}
	}
}

// variables returns the variables of an ENV as KEY=VALUE, without quotes.
func variables(env instructions.KeyValuePairs) string {
	pairs := make([]string, len(env))
	for i, pair := range env {
		pairs[i] = pair.Key + "=" + strings.Trim(pair.Value, `"`)
	}
	return strings.Join(pairs, " ")
}

// TestDockerfileGathersByTheProgram: the files of each target come from `image tree`, so the pins are the program's.
func TestDockerfileGathersByTheProgram(t *testing.T) {
	all := stages(t)
	for _, k := range kinds {
		want := "image --repository=/src tree --arch=$TARGETARCH " + k.name + " /out"
		found := slices.ContainsFunc(all, func(s instructions.Stage) bool {
			return s.Name == k.name+"-files" && slices.ContainsFunc(s.Commands, func(c instructions.Command) bool {
				run, ok := c.(*instructions.RunCommand)
				return ok && strings.Join(run.CmdLine, " ") == want
			})
		})
		if !found {
			t.Errorf("no stage %s-files runs %q", k.name, want)
		}
	}
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}
