package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/proxy"
)

// askNobody is a decider for a process without a person to ask.
type askNobody struct{}

func (askNobody) Decide(_ context.Context, r proxy.Request) (proxy.Answer, error) {
	return proxy.Refuse, errors.New("nobody to ask about " + r.Host.String())
}

// A server inside another program: no environment, no files, one listener.
func ExampleServer_Serve() {
	allow, err := proxy.ParseEntries("allow", []string{"api.example.com", "*.cdn.example.com:8443"})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv, err := proxy.New(proxy.Options{Policy: proxy.Policy{Allow: allow}, Decider: askNobody{}, Logger: zerolog.Nop()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ln, err := proxy.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() {
		served <- srv.Serve(ctx, proxy.Listeners{Data: []proxy.Listener{{Listener: ln, Identity: "example"}}})
	}()

	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.WriteString(conn, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
	reply, _ := io.ReadAll(conn)
	line, _, _ := strings.Cut(string(reply), "\r\n")
	fmt.Println(line)

	stop()
	fmt.Println(<-served)
	// Output:
	// HTTP/1.1 403 Forbidden; egress denied for evil.example:443
	// <nil>
}

func ExampleParsePolicy() {
	file := `{"allow": ["api.example.com"], "inject": [{"host": "api.example.com", "secretEnv": "API_KEY"}]}`
	p, err := proxy.ParsePolicy([]byte(file), func(name string) string { return "Bearer value of " + name })
	fmt.Println(p.Allow, p.Inject[0].Secret, err)
	// Output:
	// [api.example.com] [redacted] <nil>
}
