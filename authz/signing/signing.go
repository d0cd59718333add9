// Package signing signs the fingerprints of audit records with RS256, that is
// RSASSA-PKCS1-v1_5 over SHA-256 (RFC 8017, RFC 7518 section 3.3), and checks
// such signatures.
//
//	sig, err := signer.Sign(entry.Hash().String())
//	ok := verifier.Verify(entry.Hash().String(), sig)
//
// What is signed is the ASCII text of a fingerprint. A signature is written in
// base64url without padding. The algorithm is fixed here and never read from
// data, keys have at least 2048 bits, and verification fails closed: any error
// on the way, even a panic, means invalid. Where keys come from is not this
// package's business; it takes a [crypto.Signer], behind which a vault or a
// device may stand.
package signing

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

// MinBits is the smallest modulus that is used or accepted.
const MinBits = 2048

// ErrKey is wrapped by every error about a key that cannot be used.
var ErrKey = errors.New("unusable key")

// Signer signs. It is safe for concurrent use if the key behind it is, as
// those of crypto/rsa are. The zero value signs nothing and returns [ErrKey].
type Signer struct {
	key   crypto.Signer
	keyID string
}

// NewSigner returns a signer for key, whose public half must be RSA with at
// least [MinBits].
func NewSigner(key crypto.Signer) (*Signer, error) {
	if key == nil {
		return nil, fmt.Errorf("%w: none given", ErrKey)
	}
	id, err := keyID(key.Public())
	if err != nil {
		return nil, err
	}
	return &Signer{key: key, keyID: id}, nil
}

// ParseSigner reads one PEM block with a PKCS #8 private key.
func ParseSigner(data []byte) (*Signer, error) {
	block, err := onlyBlock(data, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(block)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%w: cannot sign", ErrKey)
	}
	return NewSigner(signer)
}

// KeyID returns the id of the key: the SHA-256 of its public half as
// SubjectPublicKeyInfo, in lower-case hexadecimal.
func (s *Signer) KeyID() string { return s.keyID }

// Verifier returns the verifier for this signer's public key.
func (s *Signer) Verifier() *Verifier {
	if s == nil || s.key == nil {
		return nil
	}
	pub, ok := s.key.Public().(*rsa.PublicKey)
	if !ok {
		return nil
	}
	return &Verifier{key: pub, keyID: s.keyID}
}

// Sign returns the signature over text.
func (s *Signer) Sign(text string) (string, error) {
	if s == nil || s.key == nil {
		return "", fmt.Errorf("%w: none given", ErrKey)
	}
	digest := sha256.Sum256([]byte(text))
	sig, err := s.key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return encoding().EncodeToString(sig), nil
}

// Verifier checks signatures of one key. It is immutable and safe for
// concurrent use. The zero value and a nil pointer accept nothing.
type Verifier struct {
	key   *rsa.PublicKey
	keyID string
}

// ParseVerifier reads one PEM block with a SubjectPublicKeyInfo that holds an
// RSA key of at least [MinBits].
func ParseVerifier(data []byte) (*Verifier, error) {
	block, err := onlyBlock(data, "PUBLIC KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(block)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	id, err := keyID(key)
	if err != nil {
		return nil, err
	}
	pub, ok := key.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: not RSA", ErrKey)
	}
	return &Verifier{key: pub, keyID: id}, nil
}

// KeyID returns the id of the key, as [Signer.KeyID].
func (v *Verifier) KeyID() string {
	if v == nil {
		return ""
	}
	return v.keyID
}

// Verify reports whether signature is one that this key made over text. There
// is nothing but true and false: whatever goes wrong means that the text has
// not been shown to be signed.
func (v *Verifier) Verify(text, signature string) (valid bool) {
	if v == nil || v.key == nil {
		return false
	}
	defer func() {
		// A library that panics on mangled input has not verified it.
		if recover() != nil {
			valid = false
		}
	}()
	sig, err := encoding().DecodeString(signature)
	if err != nil || len(sig) != v.key.Size() {
		return false
	}
	// The decoder skips newlines, which would give one signature many
	// spellings.
	if encoding().EncodeToString(sig) != signature {
		return false
	}
	digest := sha256.Sum256([]byte(text))
	return rsa.VerifyPKCS1v15(v.key, crypto.SHA256, digest[:], sig) == nil
}

// encoding is base64url without padding. Strict refuses trailing bits that are
// not zero, again because each signature has one spelling.
func encoding() *base64.Encoding { return base64.RawURLEncoding.Strict() }

// onlyBlock returns the contents of the one PEM block in data.
func onlyBlock(data []byte, kind string) ([]byte, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%w: expected a PEM block %q", ErrKey, kind)
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, fmt.Errorf("%w: more than one PEM block", ErrKey)
	}
	return block.Bytes, nil
}

// keyID checks that key is RSA of sufficient size and returns its id.
func keyID(key crypto.PublicKey) (string, error) {
	pub, ok := key.(*rsa.PublicKey)
	switch {
	case !ok:
		return "", fmt.Errorf("%w: not RSA", ErrKey)
	case pub == nil || pub.N == nil || pub.N.BitLen() < MinBits:
		return "", fmt.Errorf("%w: fewer than %d bits", ErrKey, MinBits)
	}
	spki, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrKey, err)
	}
	sum := sha256.Sum256(spki)
	return hex.EncodeToString(sum[:]), nil
}
