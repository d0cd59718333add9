package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, tc := range map[string]struct {
		in   string
		want string // canonical spelling, "" for a refusal
		why  Reason
	}{
		"name":                   {in: "API.Example.COM", want: "api.example.com"},
		"final dot":              {in: "api.example.com.", want: "api.example.com"},
		"single label":           {in: "localhost", want: "localhost"},
		"underscore":             {in: "_x.a-b.c", want: "_x.a-b.c"},
		"punycode":               {in: "xn--bcher-kva.example", want: "xn--bcher-kva.example"},
		"IPv4":                   {in: "192.0.2.1", want: "192.0.2.1"},
		"IPv4 with final dot":    {in: "192.0.2.1.", want: "192.0.2.1"},
		"IPv6":                   {in: "[2001:DB8:0::1]", want: "[2001:db8::1]"},
		"mapped stays":           {in: "[::ffff:127.0.0.1]", want: "[::ffff:127.0.0.1]"},
		"digits before a name":   {in: "1.2.3.example", want: "1.2.3.example"},
		"hex word":               {in: "dead.beef", want: "dead.beef"},
		"longest label":          {in: long + ".x", want: long + ".x"},
		"longest name":           {in: strings.Repeat(long+".", 3) + strings.Repeat("b", 61), want: strings.Repeat(long+".", 3) + strings.Repeat("b", 61)},
		"empty":                  {in: "", why: ReasonEmpty},
		"dot":                    {in: ".", why: ReasonLabel},
		"two final dots":         {in: "a..", why: ReasonLabel},
		"leading dot":            {in: ".a", why: ReasonLabel},
		"empty label":            {in: "a..b", why: ReasonLabel},
		"label too long":         {in: long + "a.x", why: ReasonLength},
		"name too long":          {in: strings.Repeat(long+".", 4), why: ReasonLength},
		"space":                  {in: "a b", why: ReasonCharacter},
		"NUL":                    {in: "a\x00.example.com", why: ReasonCharacter},
		"line feed":              {in: "a\nb", why: ReasonCharacter},
		"percent":                {in: "ex%61mple.com", why: ReasonCharacter},
		"userinfo":               {in: "user@host", why: ReasonCharacter},
		"star":                   {in: "*.example.com", why: ReasonCharacter},
		"DEL":                    {in: "a\x7f", why: ReasonCharacter},
		"not ASCII":              {in: "bücher.example", why: ReasonNonASCII},
		"fullwidth":              {in: "１２７.0.0.1", why: ReasonNonASCII},
		"bare IPv6":              {in: "::1", why: ReasonBrackets},
		"unclosed bracket":       {in: "[::1", why: ReasonLiteral},
		"text after bracket":     {in: "[::1]x", why: ReasonLiteral},
		"IPv4 in brackets":       {in: "[127.0.0.1]", why: ReasonLiteral},
		"name in brackets":       {in: "[localhost]", why: ReasonLiteral},
		"zone":                   {in: "[fe80::1%eth0]", why: ReasonZone},
		"encoded zone":           {in: "[fe80::1%25eth0]", why: ReasonZone},
		"zone on mapped":         {in: "[::ffff:1.2.3.4%x.allowed.com]", why: ReasonZone},
		"short quad":             {in: "127.1", why: ReasonAmbiguous},
		"decimal":                {in: "2130706433", why: ReasonAmbiguous},
		"hex part":               {in: "0x7f.0.0.1", why: ReasonAmbiguous},
		"hex whole":              {in: "0X7F000001", why: ReasonAmbiguous},
		"hex last":               {in: "127.0.0.0x1", why: ReasonAmbiguous},
		"bare hex prefix":        {in: "a.0x", why: ReasonAmbiguous},
		"octal":                  {in: "0177.0.0.1", why: ReasonAmbiguous},
		"quad out of range":      {in: "1.2.3.256", why: ReasonAmbiguous},
		"five parts":             {in: "1.2.3.4.5", why: ReasonAmbiguous},
		"name ending in number":  {in: "example.42", why: ReasonAmbiguous},
		"zone on a name":         {in: "a%eth0", why: ReasonCharacter},
		"slash":                  {in: "a/b", why: ReasonCharacter},
		"IPv6 with trailing dot": {in: "[::1].", why: ReasonLiteral},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseHost(tc.in)
			if tc.want != "" {
				if err != nil || got.String() != tc.want {
					t.Fatalf("ParseHost(%q) = %q, %v; want %q", tc.in, got, err, tc.want)
				}
				return
			}
			var e *EntryError
			if !errors.As(err, &e) || e.Reason != tc.why {
				t.Fatalf("ParseHost(%q) = %q, %v; want reason %q", tc.in, got, err, tc.why)
			}
			if got.IsValid() {
				t.Errorf("a refusal came with host %q", got)
			}
			if !strings.Contains(err.Error(), "invalid entry") {
				t.Errorf("error text %q", err)
			}
		})
	}
}

func TestHostKinds(t *testing.T) {
	for in, want := range map[string]struct{ loopback, addr bool }{
		"localhost":            {loopback: true},
		"LOCALHOST.":           {loopback: true},
		"a.localhost":          {loopback: true},
		"notlocalhost":         {},
		"localhost.com":        {},
		"127.0.0.1":            {loopback: true, addr: true},
		"127.8.9.1":            {loopback: true, addr: true},
		"[::1]":                {loopback: true, addr: true},
		"[::ffff:127.0.0.1]":   {loopback: true, addr: true},
		"[::127.0.0.1]":        {addr: true},
		"[::ffff:192.0.2.1]":   {addr: true},
		"0.0.0.0":              {addr: true},
		"example.com":          {},
		"[2001:db8::ffff:1:1]": {addr: true},
	} {
		h, err := ParseHost(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, isAddr := h.Addr(); h.Loopback() != want.loopback || isAddr != want.addr {
			t.Errorf("%s: loopback %v, address %v; want %+v", in, h.Loopback(), isAddr, want)
		}
		if isAddr := h.Name() == ""; isAddr != want.addr {
			t.Errorf("%s: name %q", in, h.Name())
		}
	}
}

func TestHostUnmap(t *testing.T) {
	for in, want := range map[string]string{
		"[::ffff:127.0.0.1]": "127.0.0.1", "[::ffff:7f00:1]": "127.0.0.1",
		"[::1]": "[::1]", "[::127.0.0.1]": "[::7f00:1]", "a.example": "a.example",
	} {
		h, err := ParseHost(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Unmap().String(); got != want {
			t.Errorf("Unmap(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestHostFromAddr(t *testing.T) {
	if got := HostFromAddr(netip.MustParseAddr("fe80::1%eth0")).String(); got != "[fe80::1]" {
		t.Errorf("got %s", got)
	}
	if HostFromAddr(netip.Addr{}).IsValid() || (Host{}).Loopback() {
		t.Error("the zero address gave a host")
	}
}

func TestReasonText(t *testing.T) {
	if got := Reason("other").text(); got != "other" {
		t.Errorf("unknown reason reads %q", got)
	}
}
