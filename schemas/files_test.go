package schemas

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allNames are the names of all schemas.
func allNames(tb testing.TB) []string {
	tb.Helper()
	names, err := Names()
	if err != nil || len(names) == 0 {
		tb.Fatalf("no schemas: %v", err)
	}
	return names
}

// document returns a schema decoded.
func document(tb testing.TB, name string) map[string]any {
	tb.Helper()
	text, err := Source(name)
	if err != nil {
		tb.Fatal(err)
	}
	doc, err := decodeNumbers(text)
	if err != nil {
		tb.Fatal(err)
	}
	object, ok := doc.(map[string]any)
	if !ok {
		tb.Fatalf("%s is no object", name)
	}
	return object
}

func TestFilesAreSchemas(t *testing.T) {
	for _, name := range allNames(t) {
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := Valid(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The compiler checks the file against the meta-schema.
		if _, err := newJudge(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		doc := document(t, name)
		for keyword, want := range map[string]string{
			"$schema": schemaURI,
			"$id":     "urn:steerable:schema:0.1.0:" + name,
			"title":   path.Base(name),
		} {
			if doc[keyword] != want {
				t.Errorf("%s: %s is %v, want %s", name, keyword, doc[keyword], want)
			}
		}
		if text, _ := doc["description"].(string); !strings.HasSuffix(text, ".") {
			t.Errorf("%s: the description %q is no sentence", name, text)
		}
	}
}

func TestFilesAreNothingElse(t *testing.T) {
	err := fs.WalkDir(Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(name, suffix) {
			t.Errorf("%s is no schema", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Source("chat/Nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a name that does not exist: %v", err)
	}
}

// TestHotSchemasAreTables names the schemas that need the complete engine. A
// frame that is sent or received often must not be among them.
func TestHotSchemasAreTables(t *testing.T) {
	var slow []string
	for _, name := range allNames(t) {
		e, err := newEngine(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(*table); !ok {
			slow = append(slow, name)
		}
	}
	if diff := cmp.Diff([]string{"runtime/TraceFetchResult"}, slow); diff != "" {
		t.Errorf("schemas without a table (-want +got):\n%s", diff)
	}
}

// open lists where objects that the sidecar sends are free-form.
var open = []string{
	"sidecar/SidecarRequest#/properties/params", "sidecar/SidecarNotification#/properties/params",
	"events/Notice#", "events/ToolCallEvent#/properties/arguments",
	"runtime/AgentSession#/properties/stageData", "runtime/TraceFetchResult#/properties/events/items",
	"safety/ApprovalRequest#/properties/arguments", "safety/ApprovalRequest#/properties/sandbox",
	"tools/ToolDescriptor#/properties/function/properties/parameters", "tools/ToolCall#/properties/arguments",
	"tools/ToolResult#/properties/data", "tools/ToolInvokeCall#/properties/arguments", "tools/ToolInvokeCall#/properties/context",
	"host/ProcessSpawnParams#/properties/context",
}

// sent returns the names of the schemas for what the sidecar sends.
func sent() []string {
	names := []string{FrameRequest, FrameNotification, FrameResponse, FrameError, "tools/ToolCall"}
	for _, m := range Methods() {
		for _, name := range []string{Result(m), Notification(m), ReverseParams(m)} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func TestSentObjectsAreClosed(t *testing.T) {
	var found []string
	seen := map[string]bool{}
	for _, name := range sent() {
		found = append(found, openObjects(t, name, seen)...)
	}
	slices.Sort(found)
	want := slices.Sorted(slices.Values(open))
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("objects that accept unknown members (-want +got):\n%s", diff)
	}
}

// openObjects returns where a schema and those it refers to accept unknown
// members.
func openObjects(t *testing.T, name string, seen map[string]bool) []string {
	t.Helper()
	if seen[name] {
		return nil
	}
	seen[name] = true
	var found []string
	var walk func(value any, at string)
	walk = func(value any, at string) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				walk(item, at)
			}
		case map[string]any:
			if target, ok := v["$ref"].(string); ok {
				found = append(found, openObjects(t, strings.TrimPrefix(target, prefix), seen)...)
			}
			if _, closed := v["additionalProperties"]; !closed && strings.Contains(fmt.Sprint(v["type"]), "object") {
				found = append(found, name+"#"+at)
			}
			for keyword, child := range v {
				if keyword != "enum" && keyword != "examples" {
					walk(child, at+"/"+keyword)
				}
			}
		}
	}
	walk(document(t, name), "")
	return found
}

// TestReceivedObjectsAreOpen holds the opposite for what hosts send, with the
// two exceptions in which an unknown member could be a misspelt restriction.
func TestReceivedObjectsAreOpen(t *testing.T) {
	names := []string{HostRequest, HostNotification, HostResponse}
	for _, m := range Methods() {
		names = append(names, Params(m), ReverseResult(m))
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		if doc := document(t, name); doc["additionalProperties"] != nil {
			t.Errorf("%s refuses unknown members", name)
		}
	}
	for _, name := range []string{"chat/AuthzOptions", "safety/CommandSafetyPattern"} {
		if doc := document(t, name); doc["additionalProperties"] != false {
			t.Errorf("%s accepts unknown members", name)
		}
	}
}

func TestEveryMethodHasItsSchemas(t *testing.T) {
	used := map[string]bool{}
	for _, m := range Methods() {
		r := lookup(m)
		if r == (row{}) {
			t.Errorf("%s has no schema", m)
		}
		if (r.params == "") != (r.result == "") || (r.reverseParams == "") != (r.reverseResult == "") {
			t.Errorf("%s has half of a pair: %+v", m, r)
		}
		for _, name := range []string{r.params, r.result, r.notification, r.reverseParams, r.reverseResult} {
			if name == "" {
				continue
			}
			if _, err := Source(name); err != nil {
				t.Errorf("%s: %v", m, err)
			}
			used[name] = true
		}
	}
	for _, name := range []string{"chat.stream", "chat.cancel", "chat.steer"} {
		if lookup(name) != lookup("agent."+name) {
			t.Errorf("%s is not agent.%s", name, name)
		}
	}
	for _, name := range []string{
		"", "system", "system.", "system.pong", "agent", "agent.chat", "agent.chat.", "agent.session.fork", "chat.fork", "tool.delete",
		"config.reset", "sandbox.enable", "trace.export", "lifecycle.pause", "stream.end", "approval.cancelled", "host.process.kill", "SYSTEM.PING",
	} {
		if lookup(name) != (row{}) {
			t.Errorf("%q has schemas: %+v", name, lookup(name))
		}
	}
	if !used["events/StreamChunk"] || len(used) < 30 {
		t.Errorf("only %d schemas belong to a method", len(used))
	}
}

// TestEveryFileHasExamples ties testdata to the embedded files.
func TestEveryFileHasExamples(t *testing.T) {
	var got []string
	root := filepath.Join("testdata", "examples")
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(root, strings.TrimSuffix(file, ".json"))
			got = append(got, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(got)
	if diff := cmp.Diff(allNames(t), got); diff != "" {
		t.Errorf("schemas without examples, or the reverse (-want +got):\n%s", diff)
	}
}
