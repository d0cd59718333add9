package launcher

import (
	"slices"

	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/internal/supervisor"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// namespaceSockets is the socket rule for a rung with namespaces.
func (l *launch) namespaceSockets() seccomp.Sockets {
	if l.policy.Pinnable() {
		return seccomp.SocketsPrivate
	}
	return seccomp.SocketsOpen
}

// filter builds the filter of a command. The weakened build has none.
func filter(m machine, o seccomp.Options) []seccomp.Instruction {
	if weakened(policy.DimKernel) {
		return nil
	}
	return seccomp.Build(m.arch, o)
}

// filterDimensions are what the filter and the supervisor behind it carry:
// nothing, if there is no filter.
func filterDimensions() policy.Dimension {
	if weakened(policy.DimKernel) {
		return 0
	}
	return policy.DimKernel | unless(policy.DimUnix)
}

// namespaceSupervisor answers connect where namespaces do the rest. A private
// network namespace holds nothing but what the command itself put there.
func (l *launch) namespaceSupervisor(m machine, private []string) *supervisor.Supervisor {
	return &supervisor.Supervisor{
		Arch:     m.arch,
		IP:       supervisor.IPAny,
		Sockets:  l.socketDirs(private),
		Abstract: l.policy.Pinnable() && !weakened(policy.DimEgress),
		Writable: slices.Concat(l.landlockWritable(), private),
		Foreign:  l.streams.mounts,
	}
}

// common are the dimensions that every rung carries the same way: the
// environment was scrubbed, descriptors are closed before exec, limits are
// set by the child.
func common() policy.Dimension {
	var d policy.Dimension
	for _, one := range []policy.Dimension{policy.DimEnvironment, policy.DimDescriptors, policy.DimLimits} {
		if !weakened(one) {
			d |= one
		}
	}
	return d
}

// unless returns d, or nothing if d is weakened.
func unless(d policy.Dimension) policy.Dimension {
	if weakened(d) {
		return 0
	}
	return d
}

// namespaceDimensions are what the mounts and namespaces of a rung carry.
func (l *launch) namespaceDimensions() policy.Dimension {
	d := common()
	for _, one := range []policy.Dimension{
		policy.DimWrites, policy.DimProtect, policy.DimReadDeny, policy.DimMetadata, policy.DimSignals,
	} {
		d |= unless(one)
	}
	if l.policy.Pinnable() {
		d |= unless(policy.DimEgress)
	}
	return d
}
