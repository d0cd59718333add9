package signing_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz/signing"
)

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var row struct {
			Input struct{ Case, EventHash, Signature, PublicKeyPEM string }
			Want  struct{ Valid bool }
			Why   string
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		t.Run(row.Input.Case, func(t *testing.T) {
			v, err := signing.ParseVerifier([]byte(row.Input.PublicKeyPEM))
			if err != nil && !errors.Is(err, signing.ErrKey) {
				t.Errorf("error of another kind: %v", err)
			}
			// A verifier that could not be made is nil and accepts nothing.
			if got := v.Verify(row.Input.EventHash, row.Input.Signature); got != row.Want.Valid {
				t.Errorf("%s: valid %v, want %v", row.Why, got, row.Want.Valid)
			}
		})
	}
}

func newKey(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(t testing.TB, kind string, der []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestSignAndVerify(t *testing.T) {
	key := newKey(t, 2048)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	s, err := signing.ParseSigner(encode(t, "PRIVATE KEY", der, err))
	if err != nil {
		t.Fatal(err)
	}
	der, err = x509.MarshalPKIXPublicKey(&key.PublicKey)
	v, err := signing.ParseVerifier(encode(t, "PUBLIC KEY", der, err))
	if err != nil {
		t.Fatal(err)
	}
	if s.KeyID() != v.KeyID() || len(s.KeyID()) != 64 || s.Verifier().KeyID() != v.KeyID() {
		t.Errorf("key ids %q and %q", s.KeyID(), v.KeyID())
	}
	const text = "sha256:b0d51c58c8b9c1f458fadf16c7d375630ef51da4df81915893b05c0fa4ed8bc6"
	sig, err := s.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Verify(text, sig) {
		t.Fatal("own signature is invalid")
	}
	raw, err := base64.RawURLEncoding.DecodeString(sig)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(text))
	if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, digest[:], raw); err != nil {
		t.Errorf("not RS256: %v", err)
	}
	sha512Sig, err := rsa.SignPKCS1v15(nil, key, crypto.SHA512, make([]byte, 64))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty":            "",
		"padded":           sig + "==",
		"newline inside":   sig[:10] + "\n" + sig[10:],
		"newline at end":   sig + "\n",
		"blank":            " " + sig,
		"longer":           sig + "AAAA",
		"shorter":          sig[:len(sig)-4],
		"standard letters": strings.NewReplacer("-", "+", "_", "/").Replace(sig) + "+",
		"zeros":            base64.RawURLEncoding.EncodeToString(make([]byte, 256)),
		"ones":             base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 256)),
		"another hash":     base64.RawURLEncoding.EncodeToString(sha512Sig),
	} {
		if v.Verify(text, bad) {
			t.Errorf("%s: valid", name)
		}
	}
	for i := range raw {
		flipped := bytes.Clone(raw)
		flipped[i] ^= 1
		if v.Verify(text, base64.RawURLEncoding.EncodeToString(flipped)) {
			t.Fatalf("byte %d flipped: valid", i)
		}
	}
	if v.Verify(text+" ", sig) || v.Verify("", sig) {
		t.Error("valid for another text")
	}
}

// brokenDevice is a key whose device breaks.
type brokenDevice struct{ crypto.Signer }

var errDevice = errors.New("device gone")

func (brokenDevice) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { return nil, errDevice }

func TestUnusableKeys(t *testing.T) {
	small := newKey(t, 1024)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.Signer{"none": nil, "small": small, "another algorithm": curve} {
		if s, err := signing.NewSigner(key); !errors.Is(err, signing.ErrKey) || s != nil {
			t.Errorf("NewSigner(%s) = %v, %v", name, s, err)
		}
	}
	pub := func(key any) []byte {
		der, err := x509.MarshalPKIXPublicKey(key)
		return encode(t, "PUBLIC KEY", der, err)
	}
	good := pub(&newKey(t, 2048).PublicKey)
	for name, data := range map[string][]byte{
		"empty":             nil,
		"no PEM":            []byte("key"),
		"small":             pub(&small.PublicKey),
		"another algorithm": pub(&curve.PublicKey),
		"another block":     bytes.ReplaceAll(good, []byte("PUBLIC KEY"), []byte("CERTIFICATE")),
		"two keys":          append(bytes.Clone(good), good...),
		"mangled":           bytes.Replace(good, []byte("MII"), []byte("MIJ"), 1),
	} {
		v, err := signing.ParseVerifier(data)
		if !errors.Is(err, signing.ErrKey) || v != nil {
			t.Errorf("ParseVerifier(%s) = %v, %v", name, v, err)
		}
		if v.Verify("x", "eA") || v.KeyID() != "" {
			t.Errorf("%s: a nil verifier accepts", name)
		}
	}
	for name, data := range map[string][]byte{"empty": nil, "public key": good, "mangled": []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")} {
		if s, err := signing.ParseSigner(data); !errors.Is(err, signing.ErrKey) || s != nil {
			t.Errorf("ParseSigner(%s) = %v, %v", name, s, err)
		}
	}
	var zero signing.Signer
	if _, err := zero.Sign("x"); !errors.Is(err, signing.ErrKey) {
		t.Errorf("zero signer: %v", err)
	}
	if zero.Verifier() != nil || (&signing.Verifier{}).Verify("x", "eA") {
		t.Error("zero values must not verify")
	}
	s, err := signing.NewSigner(brokenDevice{newKey(t, 2048)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sign("x"); !errors.Is(err, errDevice) {
		t.Errorf("broken device: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	key := newKey(f, 2048)
	s, err := signing.NewSigner(key)
	if err != nil {
		f.Fatal(err)
	}
	sig, err := s.Sign("text")
	if err != nil {
		f.Fatal(err)
	}
	v := s.Verifier()
	f.Add("text", sig)
	f.Add("text", sig+"A")
	f.Fuzz(func(t *testing.T, text, signature string) {
		if got := v.Verify(text, signature); got != (text == "text" && signature == sig) {
			t.Fatalf("Verify(%q, %q) = %v", text, signature, got)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	s, err := signing.NewSigner(newKey(b, 2048))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Sign("text"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s, err := signing.NewSigner(newKey(b, 2048))
	if err != nil {
		b.Fatal(err)
	}
	sig, err := s.Sign("text")
	if err != nil {
		b.Fatal(err)
	}
	v := s.Verifier()
	for b.Loop() {
		if !v.Verify("text", sig) {
			b.Fatal("invalid")
		}
	}
}
