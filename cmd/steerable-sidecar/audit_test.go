package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/authz/audit"
)

// chainDir is a directory with a chain of n records.
func chainDir(t *testing.T, n int, opts auditlog.Options) string {
	t.Helper()
	opts.Dir = t.TempDir()
	l, err := auditlog.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		r := auditlog.Record{Fields: audit.Fields{Owner: "u1", Action: "tool:bash", Capability: "process.execute", Decision: "ALLOW", Risk: "medium"}}
		if _, err := l.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return opts.Dir
}

// keyFiles makes a key and returns the files of its halves.
func keyFiles(t *testing.T) (private, public string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	private = write("key.pem", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(&key.PublicKey)
	return private, write("pub.pem", "PUBLIC KEY", der, err)
}

func segment(dir string) string {
	return filepath.Join(auditlog.OwnerDir(dir, "u1"), "000001.jsonl")
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAuditVerify(t *testing.T) {
	key, pub := keyFiles(t)
	_, otherPub := keyFiles(t)
	signer, err := auditlog.LoadSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	signed := auditlog.Options{Signer: signer}
	for _, tt := range []struct {
		name   string
		opts   auditlog.Options
		harm   func(t *testing.T, dir string)
		args   []string
		code   int
		stdout string // what it contains
	}{
		{"whole", auditlog.Options{}, nil, nil, exitOK, `"u1": verified 3 records, tail pinned by head.json, unsigned`},
		{"one owner", auditlog.Options{}, nil, []string{"--owner", "u1"}, exitOK, "verified 3 records"},
		{"signed, not checked", signed, nil, nil, exitOK, "3 signatures not checked without --pubkey"},
		{"signed", signed, nil, []string{"--pubkey", pub}, exitOK, "head signature valid"},
		{"another key", signed, nil, []string{"--pubkey", otherPub}, exitSignature, "NOT verified: SIGNATURE"},
		{"unsigned under a key", auditlog.Options{}, nil, []string{"--pubkey", pub}, exitSignature, "NOT verified: SIGNATURE at record 3"},
		{"changed", auditlog.Options{}, func(t *testing.T, dir string) {
			edit(t, segment(dir), func(d []byte) []byte { return bytes.Replace(d, []byte("ALLOW"), []byte("DENYX"), 1) })
		}, nil, exitTampered, "NOT verified: HASH_MISMATCH at record 0; the 0 before it stand"},
		{"cut off", auditlog.Options{}, func(t *testing.T, dir string) {
			edit(t, segment(dir), func(d []byte) []byte { return d[:bytes.IndexByte(d, '\n')+1] })
		}, nil, exitTruncated, "NOT verified: TRUNCATED at record 1"},
		{"torn", auditlog.Options{}, func(t *testing.T, dir string) {
			edit(t, segment(dir), func(d []byte) []byte { return append(d, `{"ev`...) })
		}, nil, exitTorn, "NOT verified: TORN_TAIL at record 3; the 3 before it stand"},
		{"no final newline", auditlog.Options{}, func(t *testing.T, dir string) {
			edit(t, segment(dir), func(d []byte) []byte { return d[:len(d)-1] })
		}, nil, exitTorn, "NO_FINAL_NEWLINE"},
		{"as JSON", auditlog.Options{}, nil, []string{"--json"}, exitOK, `"tailPinned":true`},
		{"expected head", auditlog.Options{}, nil, []string{"--owner", "u1", "--expect-count", "9", "--expect-head", "sha256:" + strings.Repeat("1", 64)}, exitTruncated, "TRUNCATED"},
		{"wrong head", auditlog.Options{}, nil, []string{"--owner", "u1", "--expect-count", "2", "--expect-head", "sha256:" + strings.Repeat("1", 64)}, exitTampered, "ANCHOR_MISMATCH"},
		{"no such owner", auditlog.Options{}, nil, []string{"--owner", "u2"}, exitFailed, ""},
		{"damaged head", auditlog.Options{}, func(t *testing.T, dir string) {
			edit(t, filepath.Join(auditlog.OwnerDir(dir, "u1"), "head.json"), func([]byte) []byte { return nil })
		}, []string{"--owner", "u1"}, exitFailed, ""},
		{"head of somebody else", auditlog.Options{}, func(t *testing.T, dir string) {
			edit(t, filepath.Join(auditlog.OwnerDir(dir, "u1"), "head.json"), func(d []byte) []byte { return bytes.Replace(d, []byte("u1"), []byte("u2"), 1) })
		}, nil, exitTampered, "ANCHOR_MISMATCH"},
		{"nothing names the owner", auditlog.Options{}, func(t *testing.T, dir string) {
			edit(t, filepath.Join(auditlog.OwnerDir(dir, "u1"), "head.json"), func(d []byte) []byte { return bytes.Replace(d, []byte("u1"), []byte("u2"), 1) })
			edit(t, segment(dir), func(d []byte) []byte { return d[1:] })
		}, nil, exitFailed, ""},
		{"missing key file", auditlog.Options{}, nil, []string{"--pubkey", "/nonexistent"}, exitFailed, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := chainDir(t, 3, tt.opts)
			if tt.harm != nil {
				tt.harm(t, dir)
			}
			code, stdout, stderr := runIn(t, "", append([]string{"audit", "verify", "--dir", dir}, tt.args...)...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || (code == exitOK) != (stderr == "" && code == 0) {
				t.Errorf("exit %d, want %d\n%s%s", code, tt.code, stdout, stderr)
			}
		})
	}
}

// A head that was printed and kept elsewhere finds what head.json cannot.
func TestAuditHead(t *testing.T) {
	key, pub := keyFiles(t)
	dir := chainDir(t, 3, auditlog.Options{})
	code, head, stderr := runIn(t, "", "audit", "head", "--dir", dir, "--key", key, "--json")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var c auditlog.Checkpoint
	if err := json.Unmarshal([]byte(head), &c); err != nil || c.Count != 3 || !c.Signed || c.Owner != "u1" {
		t.Fatalf("%s: %v", head, err)
	}
	kept := filepath.Join(t.TempDir(), "head.json")
	if err := os.WriteFile(kept, []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runIn(t, "", "audit", "verify", "--dir", dir, "--head", kept, "--pubkey", pub); code != exitOK || !strings.Contains(stdout, "tail pinned by the given head, head signature valid") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	// The attacker rewrites everything that lies beside the chain.
	edit(t, segment(dir), func(d []byte) []byte { return d[:bytes.IndexByte(d, '\n')+1] })
	if err := os.Remove(filepath.Join(auditlog.OwnerDir(dir, "u1"), "head.json")); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := runIn(t, "", "audit", "verify", "--dir", dir); code != exitOK {
		t.Errorf("without the kept head: exit %d", code)
	}
	for _, args := range [][]string{{"--head", kept}, {"--head", kept, "--owner", "u1", "--json"}} {
		if code, stdout, _ := runIn(t, "", append([]string{"audit", "verify", "--dir", dir}, args...)...); code != exitTruncated {
			t.Errorf("%q: exit %d: %s", args, code, stdout)
		}
	}
	if code, _, _ := runIn(t, "", "audit", "verify", "--dir", dir, "--head", kept, "--owner", "u2"); code != exitFailed {
		t.Errorf("head of another owner: exit %d", code)
	}
	if code, stdout, _ := runIn(t, "", "audit", "head", "--dir", dir); code != exitOK || !strings.Contains(stdout, `"u1": 1 records`) {
		t.Errorf("plain head: exit %d: %s", code, stdout)
	}
}

func TestAuditShowAndPrune(t *testing.T) {
	dir := chainDir(t, 30, auditlog.Options{MaxSegment: 2000})
	code, stdout, stderr := runIn(t, "", "audit", "show", "--dir", dir, "--owner", "u1", "--from", "5", "--limit", "3")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != exitOK || len(lines) != 3 || !strings.Contains(lines[0], `"sequence":5`) {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := runIn(t, "", "audit", "prune", "--dir", dir, "--owner", "u1", "--before", "20"); code != exitOK || !strings.Contains(stdout, "records are pruned") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	code, stdout, _ = runIn(t, "", "audit", "verify", "--dir", dir)
	if code != exitOK || !strings.Contains(stdout, "older ones pruned") {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

func TestAuditUsage(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		nil,
		{"burn"},
		{"verify", "--what"},
		{"verify", "x"},
		{"show", "--dir", dir},
		{"prune", "--dir", dir, "--owner", "u1"},
		{"verify", "--expect-count", "1"},
		{"verify", "--expect-count", "1", "--expect-head", "x"},
		{"show", "--json"},
	} {
		if code, stdout, stderr := runIn(t, "", append([]string{"audit"}, args...)...); code != exitAuditUsage || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("audit %q: %d %q %q", args, code, stdout, stderr)
		}
	}
	if code, stdout, _ := runIn(t, "", "audit", "verify", "--help"); code != exitOK || !strings.Contains(stdout, "usage:") {
		t.Errorf("help: %d %q", code, stdout)
	}
	if code, stdout, _ := runIn(t, "", "audit", "verify", "--dir", dir); code != exitOK || stdout != "no chains\n" {
		t.Errorf("empty directory: %d %q", code, stdout)
	}
	for _, verb := range []string{"show", "head", "verify"} {
		if code, stdout, stderr := runIn(t, "", "audit", verb, "--dir", dir, "--owner", "nobody"); code != exitFailed || stdout != "" || !strings.Contains(stderr, "no chain") {
			t.Errorf("%s of nobody's chain: %d %q %q", verb, code, stdout, stderr)
		}
	}
	if code, _, stderr := runIn(t, "", "audit", "verify"); code != exitFailed || !strings.Contains(stderr, "HOME") {
		t.Errorf("no directory: %d %q", code, stderr)
	}
	if code, _, _ := runIn(t, "", "audit", "head", "--dir", filepath.Join(dir, "none")); code != exitFailed {
		t.Errorf("missing directory: %d", code)
	}
}
