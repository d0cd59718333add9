package auditlog

import (
	"fmt"
	"io"
	"os"

	"github.com/steerable-go/sidecar/authz/signing"
)

// maxKey bounds what is read as a key; a 16384-bit key has 13 KB.
const maxKey = 64 << 10

// LoadSigner reads the private key that signs heads from a PKCS #8 file, which
// must belong to this user and be readable by nobody else.
func LoadSigner(path string) (*signing.Signer, error) {
	if err := checkSecret(path); err != nil {
		return nil, fmt.Errorf("load audit key: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load audit key: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	s, err := ReadSigner(f)
	if err != nil {
		return nil, fmt.Errorf("load audit key %s: %w", path, err)
	}
	return s, nil
}

// ReadSigner reads a private key from an open file, such as a descriptor that
// was inherited: no path leads to such a key.
func ReadSigner(r io.Reader) (*signing.Signer, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxKey))
	if err != nil {
		return nil, fmt.Errorf("read audit key: %w", err)
	}
	defer clear(data)
	return signing.ParseSigner(data)
}

// LoadVerifier reads a public key.
func LoadVerifier(path string) (*signing.Verifier, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load audit public key: %w", err)
	}
	v, err := signing.ParseVerifier(data)
	if err != nil {
		return nil, fmt.Errorf("load audit public key %s: %w", path, err)
	}
	return v, nil
}
