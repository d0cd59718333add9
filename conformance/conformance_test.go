package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/schemas"
)

// built is the sidecar under test, compiled once, as users do it.
var built = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(buildDir, "steerable-sidecar")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/steerable-sidecar").CombinedOutput(); err != nil {
		return path, fmt.Errorf("build the sidecar: %w\n%s", err, out)
	}
	return path, nil
})

// buildSidecar returns the path of the compiled sidecar.
func buildSidecar(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checkSchemas holds a frame against the published schemas: what the sidecar
// sends must validate.
func checkSchemas(set *schemas.Set, line []byte) error {
	var f struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return err
	}
	switch {
	case f.Method == "":
		return set.Check("sidecar/SidecarResponse", line)
	case f.ID != nil:
		if err := set.Check(schemas.FrameRequest, line); err != nil {
			return err
		}
		return set.Check(schemas.ReverseParams(f.Method), f.Params)
	}
	if err := set.Check("sidecar/SidecarNotification", line); err != nil {
		return err
	}
	return set.Check(schemas.Notification(f.Method), f.Params)
}

// TestSidecar plays every transcript against our sidecar, started in both ways
// that hosts use. There is no baseline: a difference is a defect.
func TestSidecar(t *testing.T) {
	binary := buildSidecar(t)
	suite := Suite{Dir: "testdata"}
	transcripts, err := suite.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(transcripts) < 290 {
		t.Fatalf("only %d transcripts", len(transcripts))
	}
	set := schemas.New()
	// How a host starts the sidecar changes nothing after its first frames.
	starts := regexp.MustCompile(`^(boot|eof|frame|golden|signal|shutdown)`)
	for name, launch := range map[string]struct {
		args []string
		only *regexp.Regexp
	}{"plain": {}, "as module": {[]string{"-m", "steerable_sidecar"}, starts}} {
		t.Run(name, func(t *testing.T) {
			transcripts := slices.DeleteFunc(slices.Clone(transcripts), func(tr *Transcript) bool {
				return launch.only != nil && !launch.only.MatchString(tr.Name)
			})
			player := Player{
				Command:   append([]string{binary}, launch.args...),
				Timeout:   15 * time.Second,
				CleanExit: true,
				Check:     func(line []byte) error { return checkSchemas(set, line) },
			}
			outcomes := playAll(t.Context(), player, transcripts)
			for i, tr := range transcripts {
				t.Run(tr.Name, func(t *testing.T) {
					if outcomes[i].err != nil {
						t.Fatal(outcomes[i].err)
					}
					if outcomes[i].mismatch != nil {
						t.Error(outcomes[i].mismatch)
					}
				})
			}
		})
	}
}

// TestSidecarConfined plays the transcripts that need a backend which enforces
// everything.
func TestSidecarConfined(t *testing.T) {
	// Found out without the code under test.
	if err := exec.CommandContext(t.Context(), "bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").Run(); err != nil {
		if os.Getenv("STEERABLE_E2E_REQUIRED") == "1" {
			t.Fatal("bwrap must work here:", err)
		}
		t.Skip("bwrap does not work here:", err)
	}
	binary := buildSidecar(t)
	suite := Suite{Dir: "testdata/confined"}
	transcripts, err := suite.Load()
	if err != nil {
		t.Fatal(err)
	}
	set := schemas.New()
	player := Player{
		Command: []string{binary}, Timeout: 15 * time.Second, CleanExit: true,
		Check: func(line []byte) error { return checkSchemas(set, line) },
	}
	for i, o := range playAll(t.Context(), player, transcripts) {
		t.Run(transcripts[i].Name, func(t *testing.T) {
			if o.err != nil {
				t.Fatal(o.err)
			}
			if o.mismatch != nil {
				t.Error(o.mismatch)
			}
		})
	}
}

type outcome struct {
	mismatch *Mismatch
	err      error
}

// playAll plays several sessions at once: they wait more than they work, also
// on a machine with few cores.
func playAll(ctx context.Context, player Player, transcripts []*Transcript) []outcome {
	outcomes := make([]outcome, len(transcripts))
	slots := make(chan struct{}, 6)
	var wg sync.WaitGroup
	for i, tr := range transcripts {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			m, err := player.Play(ctx, tr)
			outcomes[i] = outcome{m, err}
		})
	}
	wg.Wait()
	return outcomes
}

// TestBaselineReference shows that the list of what the reference is known to
// fail names transcripts that exist.
func TestBaselineReference(t *testing.T) {
	baseline, err := ReadBaseline("baseline-reference.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, reason := range baseline {
		if _, err := ParseFile(filepath.Join("testdata", name+".txtar")); err != nil {
			t.Errorf("%s (%s): %v", name, reason, err)
		}
	}
}

// TestAvailabilityProbe shows what the desktop's probe gets to see.
func TestAvailabilityProbe(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), buildSidecar(t), "-c", "import steerable_sidecar")
	cmd.Env = []string{}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil || out.Len() > 0 {
		t.Errorf("want exit code 0 and nothing on stdout, got %v and %q", err, &out)
	}
}

// ExampleParse reads a transcript from memory; a Player plays it.
func ExampleParse() {
	t, err := Parse("ping.txtar", []byte(`A ping is answered.
-- script --
> {"jsonrpc":"2.0","id":1,"method":"system.ping"}
< {"jsonrpc":"2.0","id":1,"result":{"status":"ok","...":"..."}}
`))
	fmt.Println(t.Name, err)
	// Output: ping <nil>
}
