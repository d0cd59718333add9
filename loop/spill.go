package loop

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/steerable-go/sidecar/protocol"
)

// Limits of spilled results.
const (
	maxWhole    = 900 << 10          // longest result in a frame of its own, in bytes
	spillLimit  = 64 << 10           // longest result a model sees whole, in bytes of JSON
	spillHead   = 24 << 10           // what it sees of a longer one; shells print
	spillTail   = 24 << 10           // their errors last, so the tail counts as much
	spillBudget = 64 << 20           // bytes on disk for one process
	spillTTL    = 7 * 24 * time.Hour // older files are removed
)

// Spill keeps the full text of large tool results on disk, where the model's
// read tool can open it, and gives the model their head and tail. It is safe
// for concurrent use.
type Spill struct {
	// Dir is where files go: a folder of mode 0700 outside every writable root
	// of a sandbox. Empty keeps nothing: large results are only cut.
	Dir string
	// Now is the clock. Required if Dir is set.
	Now func() time.Time

	mu    sync.Mutex // guards following
	used  int64
	swept bool
}

func (s *Spill) limit() int { return spillLimit }

// shortened is what a model sees of a large result's data.
type shortened struct {
	Truncated bool   `json:"truncated"`
	Bytes     int    `json:"bytes"`
	Head      string `json:"head"`
	Tail      string `json:"tail"`
	Path      string `json:"fullResultPath,omitempty"`
	Note      string `json:"note"`
}

// Shorten returns a copy of a result that is too large for one frame, with its
// data shortened as a model would see it, or nil if it is not.
func (s *Spill) Shorten(result *protocol.ToolResult) *protocol.ToolResult {
	encoded := result.AppendJSON(nil)
	if len(encoded) <= maxWhole {
		return nil
	}
	return s.shorten(result, encoded)
}

// cut returns the encoded result with its data shortened.
func (s *Spill) cut(result *protocol.ToolResult, encoded []byte) []byte {
	return s.shorten(result, encoded).AppendJSON(nil)
}

func (s *Spill) shorten(result *protocol.ToolResult, encoded []byte) *protocol.ToolResult {
	path, err := s.store(encoded)
	note := "The middle of this result was left out."
	if path != "" {
		note += " The whole of it is in the file at fullResultPath."
	} else if err != nil {
		note += " The whole of it could not be kept."
	}
	text := string(result.Data)
	short := shortened{
		Truncated: true, Bytes: len(encoded), Path: path, Note: note,
		Head: text[:boundary(text, min(spillHead, len(text)))],
	}
	if from := max(len(text)-spillTail, len(short.Head)); from < len(text) {
		short.Tail = text[boundary(text, from):]
	}
	copied := *result
	copied.Message = ends(copied.Message)
	copied.Error = ends(copied.Error)
	copied.NextAction = ends(copied.NextAction)
	data, err := json.Marshal(short)
	if err != nil {
		data = []byte(`{"truncated":true}`)
	}
	copied.Data = data
	return &copied
}

// ends shortens a text member that is itself too large.
func ends(s string) string {
	const keep = 4 << 10
	if len(s) <= 2*keep {
		return s
	}
	return s[:boundary(s, keep)] + " … " + s[boundary(s, len(s)-keep):]
}

// boundary moves i back to the start of a rune.
func boundary(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

var errSpillFull = errors.New("the budget for spilled results is used up")

// store writes a result to a file of its own, which nobody else can read.
func (s *Spill) store(content []byte) (string, error) {
	if s.Dir == "" {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+int64(len(content)) > spillBudget {
		return "", errSpillFull
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make spill folder: %w", err)
	}
	s.sweep()
	var name [12]byte
	if _, err := rand.Read(name[:]); err != nil {
		return "", fmt.Errorf("name a spill file: %w", err)
	}
	path := filepath.Join(s.Dir, "result-"+hex.EncodeToString(name[:])+".json")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("create spill file: %w", err)
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write spill file: %w", err), os.Remove(path))
	}
	s.used += int64(len(content))
	return path, nil
}

// sweep removes old files, once for each process. The caller holds mu.
func (s *Spill) sweep() {
	if s.swept {
		return
	}
	s.swept = true
	old, err := filepath.Glob(filepath.Join(s.Dir, "result-*.json"))
	if err != nil {
		return
	}
	for _, path := range old {
		if info, err := os.Lstat(path); err == nil && s.Now().Sub(info.ModTime()) > spillTTL {
			_ = os.Remove(path) // a file that stays costs only space
		}
	}
}
