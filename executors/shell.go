package executors

import (
	"slices"

	"github.com/steerable-go/sidecar/protocol"
)

// defaultCommandArg is the argument that holds a shell tool's command unless
// something else is said.
const defaultCommandArg = "command"

// DefaultShellTools are the names of tools that run a shell command, whatever
// their host says about them (the reference's default of execSandbox.tools).
func DefaultShellTools() []string { return []string{"bash", "shell", "local_exec_shell"} }

// Shell says which calls run a shell command and where the command stands. It
// is immutable. The zero value knows the default names.
type Shell struct {
	// Catalog may name a tool's command parameter itself.
	Catalog *Catalog
	// Tools are further names.
	Tools []string
	// CommandArg is the argument that holds the command of a tool that does
	// not say so itself; empty means "command".
	CommandArg string
}

// Command is the command line of a shell call.
type Command struct {
	Text  string // as the model wrote it
	Param string // the argument it stands in
	// Valid is false when the argument is missing, blank or not a string: then
	// nobody can tell what would run, and no layer lets it.
	Valid bool
}

// Of returns the command of a call, or false if the call runs none.
func (s *Shell) Of(call *Call) (Command, bool) {
	param := ""
	if s.Catalog != nil {
		if def, ok := s.Catalog.Lookup(call.Name); ok {
			param = def.ShellParam
		}
	}
	if param == "" && !slices.Contains(DefaultShellTools(), call.Name) && !slices.Contains(s.Tools, call.Name) {
		return Command{}, false
	}
	if param == "" {
		param = s.CommandArg
	}
	if param == "" {
		param = defaultCommandArg
	}
	text, ok := stringMember(call.Arguments, param)
	return Command{Text: text, Param: param, Valid: ok && !blank(text)}, true
}

// invalidCommand refuses a shell call whose command nobody can read.
func invalidCommand(call *Call, param string) *protocol.ToolResult {
	return refused(ErrorPolicyDenied, "Refused to run '%s': its argument %q must be a command line in a string that is not blank.", call.Name, param)
}
