package policy

import "fmt"

// Reason is a stable word for why a policy or a run was refused.
type Reason string

// Every reason for which this package refuses a configuration.
const (
	ReasonRootMissing      Reason = "root_missing"        // a writable root does not exist or is no directory
	ReasonRootFS           Reason = "root_is_filesystem"  // "/" is a root and AllowRootFS is not set
	ReasonSymlinkLeaves    Reason = "symlink_leaves_root" // a root below another root resolves outside it
	ReasonControlCharacter Reason = "control_character"   // a path or value holds a control character
	ReasonPathLength       Reason = "path_length"         // a path is too long for the backend
	ReasonRelativePath     Reason = "relative_path"       // a path is relative and there is no directory to start from
	ReasonAllowedHosts     Reason = "allowed_hosts"       // an allow-list entry is malformed
	ReasonEgressEndpoint   Reason = "egress_endpoint"     // the egress socket and port do not make one endpoint
	ReasonGitDir           Reason = "git_dir"             // a named git directory is none
	ReasonEnvironment      Reason = "environment"         // a variable's name is malformed or must never pass
	ReasonLimit            Reason = "limit"               // a limit is negative
	ReasonUsage            Reason = "usage"               // the command line cannot be read
)

// RefusedError is a configuration that is not made into a policy. Its text
// names the offending value, which is the caller's own, never a secret.
type RefusedError struct {
	Reason Reason
	Detail string
}

// Error returns the detail.
func (e *RefusedError) Error() string { return e.Detail }

func refuse(reason Reason, format string, args ...any) error {
	return &RefusedError{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
