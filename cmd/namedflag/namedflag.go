// Package namedflag makes the error of each flag's value one line that names the flag and the cure.
//
// The values of kingpin's own types fail with the error of a parser, such as "units: invalid foo", which does not say
// which flag it is about.
package namedflag

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"
)

// Value is a flag's value whose error names the flag, or the environment variable that it comes from.
type Value struct {
	kingpin.Value
	clause *kingpin.FlagClause
	given  bool // on the command line
}

// NameAll wraps the values of all flags of an application and of its commands. Flags that are declared later stay as
// they are.
func NameAll(application *kingpin.Application) {
	model := application.Model()
	nameAll(application, model.FlagGroupModel, model.CmdGroupModel)
}

// flagged is an application or a command.
type flagged interface {
	GetFlag(name string) *kingpin.FlagClause
	GetCommand(name string) *kingpin.CmdClause
}

func nameAll(of flagged, flags *kingpin.FlagGroupModel, commands *kingpin.CmdGroupModel) {
	for _, f := range flags.Flags {
		v := &Value{Value: f.Value, clause: of.GetFlag(f.Name)}
		v.clause.IsSetByUser(&v.given).SetValue(v)
	}
	for _, c := range commands.Commands {
		nameAll(of.GetCommand(c.Name), c.FlagGroupModel, c.CmdGroupModel)
	}
}

// Set passes a text on to the value, and names the flag in its error.
func (v *Value) Set(text string) error {
	wanted := v.wanted()
	err := v.check(text)
	if err == nil {
		err = v.Value.Set(text)
	}
	switch {
	case err == nil:
		return nil
	case wanted != "":
		return fmt.Errorf("%s: %q is not %s", v.name(), text, wanted)
	}
	return fmt.Errorf("%s: %w", v.name(), err)
}

// name returns what somebody wrote the value behind.
func (v *Value) name() string {
	if !v.given && v.clause.HasEnvarValue() {
		return v.clause.Model().Envar
	}
	return "--" + v.clause.Model().Name
}

// check refuses numbers and sizes below zero, and numbers for an int that kingpin would round. No flag has a use for these.
func (v *Value) check(text string) (err error) {
	switch v.Get().(type) {
	case int:
		_, err = strconv.ParseUint(text, 10, 31)
	case units.Base2Bytes:
		if strings.HasPrefix(text, "-") {
			err = strconv.ErrRange
		}
	}
	return err
}

// wanted says what a text must be for a value of a type of kingpin's; empty for others, whose errors say it.
func (v *Value) wanted() string {
	switch v.Get().(type) {
	case bool:
		return "true or false"
	case int:
		return fmt.Sprintf("a whole number from 0 to %d", math.MaxInt32)
	case uint32:
		return fmt.Sprintf("a whole number from 0 to %d", uint32(math.MaxUint32))
	case uint64:
		return "a whole number from 0"
	case float64:
		return "a number"
	case time.Duration:
		return "a duration such as 10s"
	case units.Base2Bytes:
		return "a size such as 4GiB"
	case map[string]string:
		return "NAME=VALUE"
	}
	return ""
}

// Get returns what a value of a type of kingpin's has been set to; nil for others.
func (v *Value) Get() any {
	if g, ok := v.Value.(kingpin.Getter); ok {
		return g.Get()
	}
	return nil
}

// IsBoolFlag reports whether the flag stands without a value.
func (v *Value) IsBoolFlag() bool {
	b, ok := v.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// IsCumulative reports whether the flag may be repeated.
func (v *Value) IsCumulative() bool {
	c, ok := v.Value.(interface{ IsCumulative() bool })
	return ok && c.IsCumulative()
}
