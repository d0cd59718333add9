package sidecar

import (
	"errors"
	"testing"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/executors"
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
