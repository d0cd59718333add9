package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/sidecar"
)

// versionInfo is what version --json prints.
type versionInfo struct {
	Version         string `json:"version"`
	ProtocolVersion string `json:"protocolVersion"`
	Commit          string `json:"commit,omitempty"`
	Modified        bool   `json:"modified,omitempty"` // built from a changed tree
	Go              string `json:"go"`
	Platform        string `json:"platform"`
}

func runVersion(env environment, args []string) int {
	set := flags("version")
	asJSON := set.Bool("json", false, "")
	if err := set.Parse(args); err != nil {
		return usage(env, "version: %s", err)
	}
	if set.NArg() > 0 {
		return usage(env, "version: unexpected argument %q", set.Arg(0))
	}
	info := versionInfo{
		Version: sidecar.Version, ProtocolVersion: protocol.ProtocolVersion,
		Go: runtime.Version(), Platform: sidecar.Platform(),
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Commit = s.Value
			case "vcs.modified":
				info.Modified = s.Value == "true"
			}
		}
	}
	if !*asJSON {
		if _, err := fmt.Fprintf(env.stdout, "steerable-sidecar %s (protocol %s, %s)\n", info.Version, info.ProtocolVersion, info.Platform); err != nil {
			return exitFailed
		}
		return exitOK
	}
	if err := json.NewEncoder(env.stdout).Encode(info); err != nil {
		return exitFailed
	}
	return exitOK
}
