package protocol

// Health is the result of system.ping and the object behind the ready marker.
type Health struct {
	Status          string           `json:"status"` // "ok"
	Version         string           `json:"version"`
	ProtocolVersion string           `json:"protocolVersion"`
	UptimeMs        int64            `json:"uptimeMs"`
	PID             int              `json:"pid"`
	Platform        string           `json:"platform"` // <os>-<machine>, like linux-x86_64
	LoadedTools     int              `json:"loadedTools"`
	ActiveTraces    int              `json:"activeTraces"`
	Checks          map[string]Check `json:"checks,omitempty"`
}

// Check is one entry of a health report.
type Check struct {
	Status    string `json:"status"` // ok, warn or error
	Message   string `json:"message,omitempty"`
	LatencyMs int64  `json:"latencyMs,omitempty"`
}

// AppendJSON implements [Appender]: pings are the most frequent request.
func (h *Health) AppendJSON(dst []byte) []byte {
	dst = AppendString(append(dst, `{"status":`...), h.Status)
	dst = AppendString(append(dst, `,"version":`...), h.Version)
	dst = AppendString(append(dst, `,"protocolVersion":`...), h.ProtocolVersion)
	dst = appendInt(append(dst, `,"uptimeMs":`...), h.UptimeMs)
	dst = appendInt(append(dst, `,"pid":`...), int64(h.PID))
	dst = AppendString(append(dst, `,"platform":`...), h.Platform)
	dst = appendInt(append(dst, `,"loadedTools":`...), int64(h.LoadedTools))
	dst = appendInt(append(dst, `,"activeTraces":`...), int64(h.ActiveTraces))
	if len(h.Checks) > 0 {
		if checks, err := appendValue(nil, h.Checks); err == nil {
			dst = append(append(dst, `,"checks":`...), checks...)
		}
	}
	return append(dst, '}')
}

// Ready is the params of lifecycle.ready.
type Ready struct {
	Version         string     `json:"version"`
	ProtocolVersion string     `json:"protocolVersion"`
	PID             int        `json:"pid"`
	ListenInfo      ListenInfo `json:"listenInfo"`
}

// ListenInfo says how the sidecar is reached.
type ListenInfo struct {
	Transport string `json:"transport"` // "stdio"
}

// Goodbye is the params of lifecycle.shutdown, the last frame of a process.
type Goodbye struct {
	Reason string `json:"reason"` // normal or eof
}

// Config is the result of config.get.
type Config struct {
	LogLevel           string             `json:"logLevel"`
	GracePeriodSeconds float64            `json:"gracePeriodSeconds"`
	Version            string             `json:"version"`
	ProtocolVersion    string             `json:"protocolVersion"`
	Merged             map[string]Setting `json:"merged,omitempty"`
}

// Setting is a configuration value with the layer it came from.
type Setting struct {
	Value any    `json:"value"`
	Layer string `json:"layer"`
}

// ConfigGetParams is the params of config.get.
type ConfigGetParams struct {
	Merged bool `json:"merged,omitempty"`
}

// ConfigSetParams is the params of config.set. Absent members stay as they
// are; nothing is stored unless everything is valid.
type ConfigSetParams struct {
	LogLevel           *string  `json:"logLevel,omitempty"`
	GracePeriodSeconds *float64 `json:"gracePeriodSeconds,omitempty"`
}

// DescribeParams is the params of sandbox.describe.
type DescribeParams struct {
	Network      bool     `json:"network,omitempty"`
	AllowedHosts []string `json:"allowedHosts,omitempty"`
	Shell        string   `json:"shell,omitempty"`
}

// SandboxReport is what a confinement amounts to: the result of
// sandbox.describe and the _sandbox marker of a tool result.
type SandboxReport struct {
	Backend     string   `json:"backend"`
	Enforcement string   `json:"enforcement"` // full, partial or none
	NotEnforced []string `json:"notEnforced,omitempty"`
	ABI         int      `json:"abi,omitempty"` // the kernel's Landlock ABI, when it matters
}
