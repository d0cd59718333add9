package sidecar

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// TestAuditLogThatCannotBeOpened shows that a log which failed to open is not
// closed at the end, even when its opener returned a typed nil with the error.
func TestAuditLogThatCannotBeOpened(t *testing.T) {
	broken := errors.New("no space left")
	a := newAuthorizer(Options{OpenAudit: func() (executors.Recorder, error) {
		var log *auditlog.Log
		return log, broken
	}})
	if log, err := a.log(); log != nil || !errors.Is(err, broken) {
		t.Errorf("want no log and the opener's error, got %v, %v", log, err)
	}
	a.close()
}

// TestAuditKeyIsKeptFromCommands: confined commands are denied the signing key,
// and may not be given a writable folder with the key or the log in it.
func TestAuditKeyIsKeptFromCommands(t *testing.T) {
	dir := t.TempDir()
	work, secret := filepath.Join(dir, "work"), filepath.Join(dir, "secret")
	for _, folder := range []string{work, secret} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(work, link); err != nil {
		t.Fatal(err)
	}
	given := []string{"/etc/hidden"}
	for name, test := range map[string]struct {
		audit, key string
		exposed    bool
	}{
		"beside":              {filepath.Join(secret, "audit"), filepath.Join(secret, "key.pem"), false},
		"no key":              {filepath.Join(secret, "audit"), "", false},
		"key in the folder":   {filepath.Join(secret, "audit"), filepath.Join(work, "key.pem"), true},
		"key through a link":  {filepath.Join(secret, "audit"), filepath.Join(link, "key.pem"), true},
		"log in the folder":   {filepath.Join(work, "audit"), filepath.Join(secret, "key.pem"), true},
		"log through a link":  {filepath.Join(link, "audit"), "", true},
		"key without any log": {"", filepath.Join(work, "key.pem"), true},
	} {
		opts := Options{AuditDir: test.audit, AuditKey: test.key}
		s := &Server{opts: opts, authorizer: newAuthorizer(opts)} // it serves nobody
		made := s.policyConfig(&execSandbox{WritableRoots: []string{work}, ReadDeny: given}, work)
		if hidden := slices.Contains(made.ReadDeny, test.key); hidden != (test.key != "") || made.ReadDeny[0] != given[0] || len(given) != 1 {
			t.Errorf("%s: commands may not read %q", name, made.ReadDeny)
		}
		rules, err := policy.New(made)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.exposed(&executors.ConfineOptions{Policy: rules}); errors.Is(err, auditlog.ErrExposed) != test.exposed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
