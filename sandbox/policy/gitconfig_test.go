package policy

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestGitConfigured: what the configuration names in a writable directory is
// protected, with the directories on the way to it.
func TestGitConfigured(t *testing.T) {
	tests := map[string]struct {
		config string
		want   []string // below the root, pins with an ending slash
	}{
		"hooks":             {"[core]\n\thooksPath = tools/hooks\n", []string{"tools/", "tools/hooks"}},
		"another spelling":  {"[CORE]\n HOOKSPATH=\"tools/hooks\" # ours\n", []string{"tools/", "tools/hooks"}},
		"in one line":       {"[core] hooksPath = tools/hooks ; ours\n", []string{"tools/", "tools/hooks"}},
		"absolute":          {"[core]\nhooksPath = $DIR/tools/hooks\n", []string{"tools/", "tools/hooks"}},
		"include":           {"[include]\n\tpath = ../team.gitconfig\n", []string{"team.gitconfig"}},
		"include under if":  {"[includeIf \"gitdir:/x\"]\n\tpath = ../team.gitconfig\n", []string{"team.gitconfig"}},
		"outside":           {"[core]\nhooksPath = /usr/share\n", nil},
		"missing":           {"[core]\nhooksPath = nowhere\n", nil},
		"the whole tree":    {"[core]\nhooksPath = .\n", nil},
		"of something else": {"[alias]\nhooksPath = tools/hooks\n", nil},
		"nothing":           {"", nil},
	}
	for name, tt := range tests {
		dir := tree(t, "p/.git/HEAD=x", "p/.git/objects", "p/.git/refs", "p/tools/hooks/pre-commit=x", "p/team.gitconfig=x")
		config := strings.ReplaceAll(tt.config, "$DIR", dir+"/p")
		if err := os.WriteFile(dir+"/p/.git/config", []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range gitConfigured(dir+"/p/.git", []string{dir + "/p"}) {
			path := p.Path[len(dir+"/p/"):]
			if p.Pin {
				path += "/"
			}
			got = append(got, path)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
