package audit_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/steerable-go/sidecar/authz/audit"
)

func benchFields() audit.Fields {
	return audit.Fields{Owner: "u1", Action: "tool:read_file", Capability: "file.read", Decision: "ALLOW", Risk: "low"}
}

func BenchmarkSHA256(b *testing.B) {
	_, head, _ := audit.Head{}.Next(benchFields())
	e, _, err := head.Next(benchFields())
	if err != nil {
		b.Fatal(err)
	}
	raw := e.Record().AppendCanonical(nil)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		sha256.Sum256(raw)
	}
}

func BenchmarkNext(b *testing.B) {
	var head audit.Head
	f := benchFields()
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if _, head, err = head.Next(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	entries, _ := chain(b, 4096)
	data := file(entries)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if res := audit.Verify(audit.Lines(bytes.NewReader(data)), audit.Options{}); !res.OK {
			b.Fatal(res.Code)
		}
	}
}

func BenchmarkVerifyBaseline(b *testing.B) {
	entries, _ := chain(b, 4096)
	data := file(entries)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		sha256.Sum256(data)
	}
}
