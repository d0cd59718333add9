package policy

// Policy is a checked configuration. Its paths are absolute and free of
// symbolic links as of the moment it was made; the launcher checks again just
// before it confines the command. The zero Policy lets a command write
// nowhere and reach nothing.
type Policy struct {
	Roots    []string // writable directories, sorted, without duplicates
	GitDirs  []string // git directories outside the roots that commits must reach (worktrees)
	ReadDeny []string // existing files and directories that must not be read

	// Unprotected gives up the protection of hooks, git configuration and
	// start-up files inside the roots.
	Unprotected bool
	// AllowRootFS records that "/" among the roots was asked for by name.
	AllowRootFS bool
	// HostCaches leaves the caches of npm, Go and pip where they are instead
	// of moving them into the private temporary directory.
	HostCaches bool

	Egress Egress
	Env    []Var
	Limits Limits
}

// EgressMode says what may leave the sandbox.
type EgressMode uint8

// The modes. The zero value is the strict one.
const (
	EgressClosed   EgressMode = iota // nothing
	EgressPinned                     // exactly one loopback endpoint
	EgressLoopback                   // several; only Seatbelt pins them, Linux reports them open
	EgressListed                     // entries the kernel cannot pin; open, and reported so
	EgressOpen                       // everything
)

// Egress is the network part of a policy.
type Egress struct {
	Mode EgressMode
	// Port is the port on the loopback address at which the command finds the
	// pinned endpoint. Set in EgressPinned only.
	Port uint16
	// Socket is the path of the unix socket behind the pinned endpoint. Empty
	// means the TCP port of the same number on the host's loopback address.
	Socket string
	// Hosts are the entries as given, for backends that understand them. Set
	// in EgressPinned without a socket, EgressLoopback and EgressListed.
	Hosts []string
}

// Var is one environment variable on top of the default allow-list. With Set
// false the value is inherited, if there is one.
type Var struct {
	Name  string
	Value string
	Set   bool
}

// Limits are resource limits of the command; zero means no limit of ours.
type Limits struct {
	CPUSeconds        int64 // processor time (RLIMIT_CPU), seconds
	FileSizeBytes     int64 // largest file written (RLIMIT_FSIZE), bytes
	Processes         int64 // processes of the user (RLIMIT_NPROC), count
	AddressSpaceBytes int64 // address space of each process (RLIMIT_AS), bytes
}

// Requested returns the dimensions p asks the kernel to enforce.
//
// Egress is always among them: a policy that leaves the network open asks for
// nothing there, yet the seed wants open egress reported as a documented gap
// ("network: true → partial"), so EgressOpen and EgressListed request what no
// backend can deliver.
func (p Policy) Requested() Dimension {
	d := DimWrites | DimMetadata | DimEgress | DimUnix | DimDescriptors |
		DimEnvironment | DimSignals | DimKernel
	if !p.Unprotected && len(ProtectedPaths(p.Roots, p.GitDirs)) > 0 {
		d |= DimProtect
	}
	if len(p.ReadDeny) > 0 {
		d |= DimReadDeny
	}
	if p.Limits != (Limits{}) {
		d |= DimLimits
	}
	return d
}

// Pinnable reports whether the kernel can enforce the egress part exactly.
func (p Policy) Pinnable() bool {
	return p.Egress.Mode == EgressClosed || p.Egress.Mode == EgressPinned
}
