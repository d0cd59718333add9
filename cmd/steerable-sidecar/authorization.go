package main

import (
	"fmt"
	"path/filepath"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/authz/govern"
	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/sidecar"
)

// Variables of the authorization pipeline; the key's are in audit.go.
const (
	envAuthz      = "STEERABLE_AUTHZ"       // off, observe or enforce
	envAuditDir   = "STEERABLE_AUDIT_DIR"   // default ~/.steerable/audit
	envAuditSign  = "STEERABLE_AUDIT_SIGN"  // "records" signs each of them
	envAuditFsync = "STEERABLE_AUDIT_FSYNC" // always, mutations or off
)

// authorization reads the operator's settings of the authorization pipeline. A
// value that cannot be understood refuses to start: it must not mean off.
func authorization(env environment, opts *sidecar.Options) error {
	opts.Authz = env.getenv(envAuthz)
	if opts.Authz != "" {
		if _, err := govern.ParseMode(opts.Authz); err != nil {
			return fmt.Errorf("%s must be off, observe or enforce, not %q", envAuthz, opts.Authz)
		}
	}
	log, err := auditOptions(env, opts.Home)
	if err != nil {
		return err
	}
	key, err := auditKey(env)
	if err != nil {
		return err
	}
	if log.SignRecords && key == "" {
		return fmt.Errorf("%s is records, but there is no %s to sign with", envAuditSign, envAuditKey)
	}
	opts.AuditDir, opts.AuditKey = log.Dir, key
	opts.OpenAudit = func() (executors.Recorder, error) {
		if key != "" {
			signer, err := auditlog.LoadSigner(key)
			if err != nil {
				return nil, err
			}
			log.Signer = signer
		}
		opened, err := auditlog.Open(log)
		if err != nil {
			return nil, err // a nil *auditlog.Log would be a recorder that is not nil
		}
		return opened, nil
	}
	return nil
}

// auditOptions reads where audit chains are kept and how they are written.
func auditOptions(env environment, home string) (auditlog.Options, error) {
	log := auditlog.Options{Dir: env.getenv(envAuditDir)}
	if log.Dir == "" && filepath.IsAbs(home) {
		log.Dir = filepath.Join(home, ".steerable", "audit")
	}
	if log.Dir != "" && !filepath.IsAbs(log.Dir) {
		return auditlog.Options{}, fmt.Errorf("%s must be an absolute path, not %q", envAuditDir, log.Dir)
	}
	switch sign := env.getenv(envAuditSign); sign {
	case "":
	case "records":
		log.SignRecords = true
	default:
		return auditlog.Options{}, fmt.Errorf("%s must be records, not %q", envAuditSign, sign)
	}
	if text := env.getenv(envAuditFsync); text != "" {
		sync, err := auditlog.ParseSync(text)
		if err != nil {
			return auditlog.Options{}, fmt.Errorf("%s: %w", envAuditFsync, err)
		}
		log.Sync = sync
	}
	return log, nil
}

// auditKey returns the file of the signing key, "" if there is none. The
// sandbox resolves paths in the folder of a chat, so it is told an absolute one.
func auditKey(env environment) (string, error) {
	key := env.getenv(envAuditKey)
	if key == "" {
		return "", nil
	}
	abs, err := filepath.Abs(key)
	if err != nil {
		return "", fmt.Errorf("%s: %w", envAuditKey, err)
	}
	return abs, nil
}
