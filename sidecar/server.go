package sidecar

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/authz/govern"
	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/loop"
	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/schemas"
)

// Version is the version of the programs.
const Version = "0.1.0"

// Options configures a [Server]. In, Out and ErrOut are required.
type Options struct {
	// In and Out are the protocol's streams; see [protocol.Claim].
	In  io.Reader
	Out io.Writer
	// ErrOut receives the ready marker.
	ErrOut io.Writer
	// Log receives events; SetLevel, if not nil, changes its level.
	Log      zerolog.Logger
	SetLevel func(zerolog.Level)
	// LogLevel is the level config.get reports at first: DEBUG, INFO, WARNING
	// or ERROR. Empty means INFO.
	LogLevel string
	// QuietReady leaves the ready marker out.
	QuietReady bool
	// MaxFrame caps an inbound line, in bytes; 0 means 16 MiB.
	MaxFrame int
	// CoreLoop is what useCoreLoop means when a request says nothing and offers
	// no tools.
	CoreLoop bool
	// Client makes the HTTP client of the providers; nil means a default one.
	// It is called once, at the first turn.
	Client func() *http.Client
	// Tools run inside this process.
	Tools []executors.Tool
	// Sandbox selects the backends that confine commands; nil has none.
	Sandbox *sandbox.Host
	// SandboxBackend is one of [SandboxBackends]: the only backend the operator
	// lets confine commands. Empty means auto, the strongest that works. It
	// never satisfies what a request requires: where the backend is none, or
	// does not work, requireFull and requireBackend refuse.
	SandboxBackend string
	// Home is the folder that "~" stands for in paths of requests.
	Home string
	// SafetyRules are the operator's rules, part of every turn's classifier.
	SafetyRules []safety.Pattern
	// Authz is the operator's authorization mode: off, observe or enforce;
	// empty means off. A request can only be stricter.
	Authz string
	// AuditDir is where OpenAudit keeps its log; requests whose sandbox could
	// write there are refused. OpenAudit is called at the first turn that needs
	// it; nil, or its error, denies every call of an authorized turn.
	AuditDir  string
	OpenAudit func() (executors.Recorder, error)
	// AuditKey is the file of the key that OpenAudit signs with, an absolute
	// path. Sandboxed commands may not read it, where their backend can see to
	// that; requests whose sandbox could write it are refused.
	AuditKey string
	// Retry, IdleTimeout and SpillDir are the operator's settings; zero values
	// mean the defaults of llm and loop, and that nothing is spilled.
	Retry       llm.RetryPolicy
	IdleTimeout time.Duration
	SpillDir    string
	// Now is the clock, Rand a source of numbers in [0,1). nil means the
	// system's.
	Now  func() time.Time
	Rand func() float64
}

// Server is one sidecar. Run is called once.
type Server struct {
	opts     Options
	schemas  *schemas.Set
	out      *protocol.Out
	peer     *protocol.Peer
	router   *executors.Router
	client   func() *http.Client
	started  time.Time
	pid      int
	platform string
	config   *config
	streams  *streams
	store    *store
	traces   *traces

	spill       *loop.Spill
	authorizer  *authorizer
	authzMode   govern.Mode
	classifiers classifiers
	sessions    approvals.SessionCache
	prompts     approvals.Prompts
	spawned     executors.SpawnReports

	stop    chan stopRequest // the host asked for a shutdown
	outFail chan error       // the pipe to the host broke
}

// New returns a server. Nothing is read or written before [Server.Run].
func New(opts Options) *Server {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Rand == nil {
		opts.Rand = random
	}
	if opts.Client == nil {
		opts.Client = func() *http.Client { return llm.NewHTTPClient(llm.HTTPOptions{}) }
	}
	s := &Server{
		opts:    opts,
		schemas: schemas.New(),
		router:  executors.NewRouter(opts.Tools...),
		client:  sync.OnceValue(opts.Client),
		started: opts.Now(),
		pid:     os.Getpid(), platform: Platform(),
		config:  newConfig(opts),
		streams: newStreams(),
		store:   newStore(opts.Now),
		traces:  &traces{},
		stop:    make(chan stopRequest, 1),
		outFail: make(chan error, 1),

		spill:       &loop.Spill{Dir: opts.SpillDir, Now: opts.Now},
		authorizer:  newAuthorizer(opts),
		authzMode:   modeOf(opts.Authz),
		classifiers: classifiers{extra: opts.SafetyRules},
	}
	if opts.Sandbox == nil {
		s.opts.Sandbox = sandbox.NewHost(sandbox.Options{})
	}
	s.out = protocol.NewOut(opts.Out, protocol.OutOptions{OnFail: s.broken})
	s.peer = protocol.NewPeer(protocol.Options{
		In: opts.In, Out: s.out, Schemas: s.schemas, Log: opts.Log,
		Methods: s.methods(), MaxFrame: opts.MaxFrame,
	})
	return s
}

// broken remembers that the host is gone; it runs on the writer's goroutine.
func (s *Server) broken(err error) {
	select {
	case s.outFail <- err:
	default:
	}
}

// methods is the method table.
func (s *Server) methods() map[string]protocol.Method {
	fast := func(h protocol.HandlerFunc) protocol.Method { return protocol.Method{Handle: h, Fast: true} }
	slow := func(h protocol.HandlerFunc) protocol.Method { return protocol.Method{Handle: h} }
	stream := protocol.Method{Handle: s.chatStream, Unbounded: true}
	cancel, steer := fast(s.chatCancel), fast(s.chatSteer)
	return map[string]protocol.Method{
		protocol.MethodPing:          fast(s.ping),
		protocol.MethodShutdown:      fast(s.shutdown),
		protocol.MethodShutdownNow:   fast(s.shutdownNow),
		protocol.MethodSessionCreate: slow(s.sessionCreate),
		protocol.MethodSessionResume: slow(s.sessionResume),
		protocol.MethodSessionList:   slow(s.sessionList),
		protocol.MethodChatStream:    stream,
		protocol.AliasChatStream:     stream,
		protocol.MethodChatCancel:    cancel,
		protocol.AliasChatCancel:     cancel,
		protocol.MethodChatSteer:     steer,
		protocol.AliasChatSteer:      steer,
		protocol.MethodToolList:      slow(s.toolList),
		protocol.MethodToolInvoke:    slow(s.toolInvoke),
		protocol.MethodConfigGet:     slow(s.configGet),
		protocol.MethodConfigSet:     slow(s.configSet),
		protocol.MethodDescribe:      slow(s.describe),
		protocol.MethodTraceFetch:    slow(s.traceFetch),
	}
}

// announce sends both ready markers: desktop supervisors wait for the line on
// standard error, other hosts for the notification.
func (s *Server) announce(ctx context.Context) error {
	if !s.opts.QuietReady {
		line := append([]byte(protocol.ReadyMarker), s.health().AppendJSON(nil)...)
		if _, err := s.opts.ErrOut.Write(append(line, '\n')); err != nil {
			// The other marker follows; nobody reads standard error.
			s.opts.Log.Debug().Err(err).Msg("ready marker not written")
		}
	}
	return s.peer.Notify(ctx, protocol.NotifyReady, protocol.Ready{
		Version: Version, ProtocolVersion: protocol.ProtocolVersion, PID: os.Getpid(),
		ListenInfo: protocol.ListenInfo{Transport: "stdio"},
	})
}
