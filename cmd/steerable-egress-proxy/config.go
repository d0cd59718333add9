package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/proxy"
)

// program is a proxy ready to serve.
type program struct {
	flags   *flags
	server  *proxy.Server
	log     zerolog.Logger
	control bool
	closers []io.Closer
}

// build checks everything that can be checked before a socket is opened.
func (f *flags) build(env environment) (*program, error) {
	p := &program{flags: f, log: zerolog.New(env.stderr).Level(f.logLevel).With().Timestamp().Logger()}
	opt, err := f.options(env, p)
	if err == nil {
		p.control = !opt.ControlToken.IsZero()
		opt.Logger = p.log
		p.server, err = proxy.New(opt)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *program) close() {
	for _, c := range p.closers {
		_ = c.Close()
	}
}

func (f *flags) options(env environment, p *program) (proxy.Options, error) {
	drain := max(f.drainTimeout, 0)
	opt := proxy.Options{
		Guard: f.guard, SNI: f.sni,
		HeadTimeout: f.headTimeout, ConnectTimeout: f.connectTimeout, IdleTimeout: f.idleTimeout,
		HalfCloseTimeout: f.halfCloseTimeout, DrainTimeout: drain,
		MaxConns:   int(f.maxConns),
		NameServer: f.nameServer, SOCKS: f.socks, InjectChunked: f.injectChunked,
	}
	var err error
	if opt.Policy, err = f.readPolicy(env); err != nil {
		return opt, err
	}
	if f.record != "" {
		if len(opt.Policy.Inject) == 0 {
			return opt, errors.New("--record-requests requires --inject-host")
		}
		opt.Record = &appendFile{path: f.record}
	}
	if f.controlTokenEnv != "" {
		token := env.secret(f.controlTokenEnv)
		if token == "" {
			return opt, fmt.Errorf("control token env var %q is empty or unset", f.controlTokenEnv)
		}
		opt.ControlToken = proxy.NewSecret(token)
	}
	if err := f.upstreamOptions(env, &opt); err != nil {
		return opt, err
	}
	return opt, f.openFiles(&opt, p)
}

// readPolicy joins the flags and the policy file.
func (f *flags) readPolicy(env environment) (proxy.Policy, error) {
	var p proxy.Policy
	if f.policy != "" {
		data, err := os.ReadFile(filepath.Clean(f.policy))
		if err != nil {
			return p, fmt.Errorf("--policy: %w", err)
		}
		if p, err = proxy.ParsePolicy(data, env.secret); err != nil {
			return p, fmt.Errorf("--policy %s: %w", f.policy, err)
		}
	}
	allow, err := proxy.ParseEntries("allow", f.allow)
	if err != nil {
		return p, err
	}
	deny, err := proxy.ParseEntries("deny", f.deny)
	if err != nil {
		return p, err
	}
	p.Allow, p.Deny = append(allow, p.Allow...), append(deny, p.Deny...)
	rule, err := f.injectRule(env)
	if err != nil {
		return p, err
	}
	if rule != nil {
		p.Inject = append(p.Inject, *rule)
	}
	if len(p.Allow) == 0 {
		return p, proxy.ErrEmptyPolicy
	}
	return p, nil
}

func (f *flags) injectRule(env environment) (*proxy.InjectRule, error) {
	if (f.injectHost == "") != (f.injectSecretEnv == "") {
		return nil, errors.New("--inject-host and --inject-secret-env must come together")
	}
	if f.injectHost == "" {
		return nil, nil //nolint:nilnil // no rule is a valid answer
	}
	secret := env.secret(f.injectSecretEnv)
	if secret == "" {
		return nil, fmt.Errorf("inject secret env var %q is empty or unset", f.injectSecretEnv)
	}
	host, err := proxy.ParseHost(f.injectHost)
	if err != nil {
		return nil, fmt.Errorf("--inject-host: %w", err)
	}
	return &proxy.InjectRule{
		Host: host, Secret: proxy.NewSecret(secret), Header: f.injectHeader, Scheme: f.injectScheme, Port: uint16(f.injectPort),
	}, nil
}

func (f *flags) upstreamOptions(env environment, opt *proxy.Options) error {
	var err error
	if opt.UpstreamNames, err = proxy.ParseEntries("upstream-name", f.upstreamNames); err != nil {
		return err
	}
	if opt.UpstreamBypass, err = proxy.ParseEntries("upstream-bypass", f.upstreamBypass); err != nil {
		return err
	}
	if f.upstream == "" {
		if f.upstreamAuth != "" {
			return errors.New("--upstream-auth-env requires --upstream")
		}
		return nil
	}
	if opt.Upstream, err = url.Parse(f.upstream); err != nil {
		return errors.New("--upstream: not a URL") // the text might hold a password
	}
	if f.upstreamAuth == "" {
		return nil
	}
	user, password, ok := strings.Cut(env.secret(f.upstreamAuth), ":")
	if !ok {
		return fmt.Errorf("upstream auth env var %q does not hold user:password", f.upstreamAuth)
	}
	opt.Upstream.User = url.UserPassword(user, password)
	return nil
}

// openFiles opens what has to be there before the first request.
func (f *flags) openFiles(opt *proxy.Options, p *program) error {
	if f.hostsFile != "" {
		data, err := os.ReadFile(filepath.Clean(f.hostsFile))
		if err != nil {
			return fmt.Errorf("--hosts-file: %w", err)
		}
		opt.Hosts = strings.NewReader(string(data))
	}
	if f.audit == "" || f.check {
		return nil
	}
	file, err := os.OpenFile(filepath.Clean(f.audit), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("--audit: %w", err)
	}
	p.closers = append(p.closers, file)
	if opt.Audit, err = proxy.NewAudit(file, file); err != nil {
		return fmt.Errorf("--audit %s: %w", f.audit, err)
	}
	return nil
}

// serve opens the listeners, says so, and serves until ctx ends.
func (p *program) serve(ctx context.Context, env environment) error {
	// Before anything is said: who reads it may signal at once.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	l, err := p.listen(ctx)
	if err != nil {
		return err
	}
	for _, d := range l.Data {
		_, _ = fmt.Fprintln(env.stderr, "egress proxy on", d.Addr())
	}
	if l.Control != nil {
		// One write: hosts look for the line inside one chunk.
		_, port, _ := strings.Cut(l.Control.Addr().String(), ":")
		_, _ = io.WriteString(env.stdout, "EGRESS_CONTROL_PORT="+port+"\n")
	}
	var reloads sync.WaitGroup
	defer reloads.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reloads.Go(func() { p.reloadOn(ctx, hup, env) })
	return p.server.Serve(ctx, l)
}

// listen opens the data listeners, then the control listener.
func (p *program) listen(ctx context.Context) (l proxy.Listeners, err error) {
	defer func() {
		if err != nil {
			for _, d := range l.Data {
				_ = d.Close()
			}
		}
	}()
	binds := p.flags.binds
	if len(binds) == 0 && len(p.flags.listenFDs) == 0 {
		binds = []string{"127.0.0.1:8899"}
	}
	for _, bind := range binds {
		ln, err := proxy.Listen(ctx, bind)
		if err != nil {
			return l, err
		}
		l.Data = append(l.Data, proxy.Listener{Listener: ln, Identity: bind})
	}
	for _, fd := range p.flags.listenFDs {
		ln, err := proxy.ListenFD(uintptr(fd))
		if err != nil {
			return l, fmt.Errorf("--listen-fd: %w", err)
		}
		l.Data = append(l.Data, proxy.Listener{Listener: ln, Identity: fmt.Sprintf("fd:%d", fd)})
	}
	if p.control {
		l.Control, err = proxy.ListenControl(ctx, uint16(p.flags.controlPort))
	}
	return l, err
}

// reloadOn reads the policy file again at each signal, until ctx ends. A file
// that cannot be used changes nothing.
func (p *program) reloadOn(ctx context.Context, hup <-chan os.Signal, env environment) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
		}
		policy, err := p.flags.readPolicy(env)
		if err == nil {
			err = p.server.Reload(policy)
		}
		if err != nil {
			p.log.Error().Err(err).Msg("policy not reloaded")
			continue
		}
		p.log.Info().Msg("policy reloaded")
	}
}

// describe prints a policy, one entry on a line.
func describe(p proxy.Policy) string {
	var b strings.Builder
	for _, e := range p.Allow {
		fmt.Fprintln(&b, "allow", e)
	}
	for _, e := range p.Deny {
		fmt.Fprintln(&b, "deny", e)
	}
	for _, r := range p.Inject {
		fmt.Fprintf(&b, "inject %s %s://%s:%d\n", r.Header, r.Scheme, r.Host, r.Port)
	}
	return b.String()
}

// appendFile opens its file for every write, so that one that cannot be
// opened now may be later.
type appendFile struct{ path string }

func (a *appendFile) Write(p []byte) (int, error) {
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return 0, fmt.Errorf("write %s: %w", a.path, err)
	}
	f, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", a.path, err)
	}
	n, err := f.Write(p)
	return n, errors.Join(err, f.Close())
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
