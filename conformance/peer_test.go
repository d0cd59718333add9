package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// fakePeer is the variable that turns the test binary into a peer; its value
// is the way in which the peer misbehaves.
const fakePeer = "CONFORMANCE_FAKE_PEER"

// buildDir is where the tests compile what they test.
var buildDir string

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakePeer); mode != "" {
		os.Exit(playFake(mode))
	}
	var err error
	if buildDir, err = os.MkdirTemp("", "conformance-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(buildDir)
		os.Exit(code)
	}))
}

// fakeCommand is a player for a fake peer of the given kind.
func fakeCommand(t *testing.T, mode string) Player {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The race detector keeps a process for a second after its end.
	env := []string{fakePeer + "=" + mode, "GORACE=atexit_sleep_ms=0"}
	p := Player{Command: []string{self}, Env: env, Timeout: 15 * time.Second}
	if slices.Contains([]string{"missing frame", "silent", "hang at eof", "deaf"}, mode) {
		p.Timeout = time.Second // nothing will come
	}
	return p
}

const goodbye = `{"jsonrpc":"2.0","method":"lifecycle.shutdown","params":{"reason":"eof"}}`

// playFake is a peer that answers every request with {"ok":true}, or does what
// its mode says instead.
func playFake(mode string) int {
	switch mode {
	case "deaf": // never reads
		fmt.Println(`{"jsonrpc":"2.0","method":"lifecycle.ready","params":{}}`)
		<-time.After(time.Minute)
		return 0
	case "silent":
		<-time.After(time.Minute)
		return 0
	case "polite":
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		fmt.Println(`{"jsonrpc":"2.0","method":"lifecycle.ready","params":{}}`)
		<-stop
		fmt.Println(goodbye)
		return 0
	}
	fmt.Fprintln(os.Stderr, "fake peer is ready")
	fmt.Println(`{"jsonrpc":"2.0","method":"lifecycle.ready","params":{}}`)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return endFake(mode)
		}
		var request struct {
			ID     json.RawMessage `json:"id"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal([]byte(line), &request) != nil || request.ID == nil {
			continue
		}
		if code, exit := answerFake(mode, string(request.ID), string(request.Params)); exit {
			return code
		}
	}
}

func endFake(mode string) int {
	switch mode {
	case "hang at eof":
		<-time.After(time.Minute)
	case "torn":
		fmt.Print(`{"jsonrpc":"2.0",`)
		return 0
	case "late frame":
		fmt.Println(`{"jsonrpc":"2.0","id":99,"result":null}`)
	case "exit code":
		fmt.Println(goodbye)
		return 7
	case "after goodbye":
		fmt.Println(goodbye)
	}
	fmt.Println(goodbye)
	return 0
}

func answerFake(mode, id, params string) (code int, exit bool) {
	good := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, id)
	switch mode {
	case "wrong field":
		good = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"ok":false}}`, id)
	case "extra field":
		good = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"ok":true,"more":1}}`, id)
	case "missing frame":
		return 0, false
	case "extra frame":
		good += "\n" + good
	case "print":
		good = "starting up...\n" + good
	case "scalar":
		good = "42"
	case "utf8":
		good = strings.Replace(good, "true", "\"\xff\"", 1)
	case "no id":
		good = `{"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}`
	case "null result":
		good = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`, id)
	case "id form":
		good = strings.Replace(good, ":"+id, ":1", 1)
	case "exit early":
		return 3, true
	case "echo":
		good = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, params)
	case "environ":
		good = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"leak":%q}}`, id, os.Getenv("CONFORMANCE_LEAK"))
	case "where":
		good = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, whereFake(params))
	case "pieces":
		for _, piece := range []string{"Hel", "lo ", "world"} {
			fmt.Printf(`{"jsonrpc":"2.0","method":"stream.chunk","params":{"delta":%q}}`+"\n", piece)
		}
	case "lanes":
		fmt.Println(`{"jsonrpc":"2.0","method":"b","params":{"n":1}}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"a","params":{"n":1}}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"b","params":{"n":2}}`)
	case "reverse":
		good = `{"jsonrpc":"2.0","id":"srv_7","method":"tool.invoke","params":{}}`
	case "orphan":
		self, _ := os.Executable()
		child := exec.Command(self)
		child.Env, child.Stdout = []string{fakePeer + "=silent"}, os.Stdout
		if child.Start() != nil {
			return 1, true
		}
	case "noisy":
		good += "\n" + `{"jsonrpc":"2.0","method":"agent.child","params":{}}`
	}
	fmt.Println(good)
	return 0, false
}
