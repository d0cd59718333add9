package resolve

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
)

// The parts of RFC 1035 and RFC 3596 that two questions need.
const (
	typeA     = 1
	typeCNAME = 5
	typeAAAA  = 28
	classIN   = 1

	headerLen = 12
	maxChain  = 16 // aliases followed within one answer

	flagResponse  = 1 << 15
	flagTruncated = 1 << 9
	flagRecursion = 1 << 8
	rcodeMask     = 0xf
	rcodeNXDomain = 3
)

// question is one thing asked; name is canonical and without a final dot.
type question struct {
	id    uint16
	name  string
	qtype uint16
}

// pack builds the query. Names come from [egress.ParseHost], so that every
// label has 1 to 63 bytes and the whole fits.
func (q question) pack() []byte {
	b := make([]byte, headerLen, headerLen+len(q.name)+6)
	binary.BigEndian.PutUint16(b[0:], q.id)
	binary.BigEndian.PutUint16(b[2:], flagRecursion)
	binary.BigEndian.PutUint16(b[4:], 1)
	for label := range strings.SplitSeq(q.name, ".") {
		b = append(b, byte(len(label)&0x3f))
		b = append(b, label...)
	}
	b = append(b, 0)
	b = binary.BigEndian.AppendUint16(b, q.qtype)
	return binary.BigEndian.AppendUint16(b, classIN)
}

// reply is what an answer holds for its question.
type reply struct {
	truncated bool
	addrs     []netip.Addr
}

// errOther reports a message that answers some other question; a datagram like
// that is ignored, since anybody may have sent it.
var errOther = fmt.Errorf("reply to another question: %w", ErrServer)

// errMessage reports bytes that are no DNS message.
var errMessage = fmt.Errorf("malformed reply: %w", ErrServer)

// unpack reads a reply, follows aliases inside it and returns the addresses of
// the name asked for. Records of other names are ignored.
func (q question) unpack(msg []byte) (reply, error) {
	if len(msg) < headerLen {
		return reply{}, errOther
	}
	flags := binary.BigEndian.Uint16(msg[2:])
	if binary.BigEndian.Uint16(msg[0:]) != q.id || flags&flagResponse == 0 || binary.BigEndian.Uint16(msg[4:]) != 1 {
		return reply{}, errOther
	}
	name, at, err := readName(msg, headerLen)
	if err != nil {
		return reply{}, err
	}
	if len(msg) < at+4 || !strings.EqualFold(name, q.name) || binary.BigEndian.Uint16(msg[at:]) != q.qtype {
		return reply{}, errOther
	}
	switch code := flags & rcodeMask; {
	case flags&flagTruncated != 0:
		return reply{truncated: true}, nil
	case code == rcodeNXDomain:
		return reply{}, ErrNotFound
	case code != 0:
		return reply{}, fmt.Errorf("response code %d: %w", code, ErrServer)
	}
	rs, err := readRecords(msg, at+4, int(binary.BigEndian.Uint16(msg[6:])))
	if err != nil {
		return reply{}, err
	}
	return reply{addrs: rs.follow(q.name, q.qtype)}, nil
}

type record struct {
	name  string
	rtype uint16
	addr  netip.Addr // of an A or AAAA record
	alias string     // of a CNAME record
}

type records []record

func readRecords(msg []byte, at, count int) (records, error) {
	var out records
	for range count {
		name, next, err := readName(msg, at)
		if err != nil {
			return nil, err
		}
		if len(msg) < next+10 {
			return nil, errMessage
		}
		rtype, class := binary.BigEndian.Uint16(msg[next:]), binary.BigEndian.Uint16(msg[next+2:])
		data := next + 10
		end := data + int(binary.BigEndian.Uint16(msg[next+8:]))
		if len(msg) < end {
			return nil, errMessage
		}
		at = end
		if class != classIN {
			continue
		}
		r := record{name: name, rtype: rtype}
		switch rtype {
		case typeA, typeAAAA:
			addr, ok := netip.AddrFromSlice(msg[data:end])
			if !ok || addr.Is4() != (rtype == typeA) {
				return nil, errMessage
			}
			r.addr = addr
		case typeCNAME:
			if r.alias, _, err = readName(msg, data); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// follow walks the aliases from name and collects the addresses at the end.
func (rs records) follow(name string, qtype uint16) []netip.Addr {
	for range maxChain {
		var addrs []netip.Addr
		next := ""
		for _, r := range rs {
			if !strings.EqualFold(r.name, name) {
				continue
			}
			switch r.rtype {
			case qtype:
				addrs = append(addrs, r.addr)
			case typeCNAME:
				next = r.alias
			}
		}
		if len(addrs) > 0 || next == "" {
			return addrs
		}
		name = next
	}
	return nil
}

// readName reads a possibly compressed name and returns the index after it.
// Pointers may only go backwards, which also ends loops.
func readName(msg []byte, at int) (name string, next int, err error) {
	var b strings.Builder
	limit := at
	for {
		if at >= len(msg) {
			return "", 0, errMessage
		}
		n := int(msg[at])
		switch {
		case n == 0:
			if next == 0 {
				next = at + 1
			}
			return b.String(), next, nil
		case n < 64:
			if at+1+n > len(msg) || b.Len()+n > 255 {
				return "", 0, errMessage
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.Write(msg[at+1 : at+1+n])
			at += 1 + n
		case n >= 0xc0:
			if at+2 > len(msg) {
				return "", 0, errMessage
			}
			if next == 0 {
				next = at + 2
			}
			at = int(binary.BigEndian.Uint16(msg[at:]) & 0x3fff)
			if at >= limit {
				return "", 0, errMessage
			}
			limit = at
		default:
			return "", 0, errMessage
		}
	}
}
