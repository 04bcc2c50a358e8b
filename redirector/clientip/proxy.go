package clientip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"time"

	"github.com/pires/go-proxyproto"
)

// defaultReadHeaderTimeout is what the PROXY specification's "at least 3
// seconds" for a retransmission becomes when no timeout is given.
const defaultReadHeaderTimeout = 5 * time.Second

// ProxyListener wraps l so that its connections speak the PROXY protocol,
// version 1 or 2, as far as r trusts their peers. A trusted peer must begin with
// a PROXY header, which names the address that RemoteAddr then returns; whoever
// else sends one is refused, and served when it does not.
//
// Accept never reads. The header is read by the first Read, Write or RemoteAddr
// of a connection, within readHeaderTimeout (5 seconds when not positive). A
// header that is missing, late, broken or not allowed makes every Read and Write
// fail, so that the caller closes the connection; nothing was written on it.
//
// LOCAL, UNKNOWN and Unix socket addresses name no viewer: RemoteAddr stays the
// peer's. A version 1 line must arrive in one piece, as the specification
// obliges its sender to send it.
func ProxyListener(l net.Listener, r *Resolver, readHeaderTimeout time.Duration) net.Listener {
	if readHeaderTimeout <= 0 {
		readHeaderTimeout = defaultReadHeaderTimeout
	}
	return &proxyListener{Listener: l, resolver: r, timeout: readHeaderTimeout}
}

type proxyListener struct {
	net.Listener
	resolver *Resolver
	timeout  time.Duration
}

// Accept implements [net.Listener].
func (l *proxyListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err // the inner listener's own error, which servers inspect
	}
	policy := proxyproto.REJECT
	if peer, ok := ParsePeer(raw.RemoteAddr().String()); ok && l.resolver.Trusted(peer) {
		policy = proxyproto.REQUIRE
	}
	return &proxyConn{Conn: proxyproto.NewConn(raw,
		proxyproto.WithPolicy(policy),
		proxyproto.SetReadHeaderTimeout(l.timeout),
		proxyproto.ValidateHeader(checkHeader),
	)}, nil
}

// proxyConn mends what the library's connection does not do as we need it.
type proxyConn struct {
	*proxyproto.Conn
}

// RemoteAddr returns the viewer's address, or the peer's when the header names
// none that is an IP address.
func (c *proxyConn) RemoteAddr() net.Addr {
	addr := c.Conn.RemoteAddr()
	if _, isUnix := addr.(*net.UnixAddr); isUnix {
		return c.Raw().RemoteAddr()
	}
	return addr
}

// LocalAddr returns our own address rather than the one the viewer dialled at
// the proxy: it is read for logs, and must not wait for the header.
func (c *proxyConn) LocalAddr() net.Addr {
	return c.Raw().LocalAddr()
}

// CloseWrite closes the sending half. net/http does so before it drops a
// connection with unread bytes, lest a reset overtake the answer.
func (c *proxyConn) CloseWrite() error {
	if conn, ok := c.Raw().(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Sizes of a version 2 header (PROXY protocol specification, §2.2).
const (
	proxyFixedBytes = 16 // signature, command, family, length
	proxyIPv4Bytes  = 12
	proxyIPv6Bytes  = 36
	proxyTLVBytes   = 3 // type and length
)

// checkHeader refuses a version 2 header whose type-length-values are cut short
// or whose checksum is wrong, neither of which the library looks at. Headers
// whose addresses are not used are not checked.
func checkHeader(h *proxyproto.Header) error {
	if h.Version != 2 || h.Command.IsLocal() {
		return nil
	}
	at := proxyFixedBytes
	switch {
	case h.TransportProtocol.IsIPv4():
		at += proxyIPv4Bytes
	case h.TransportProtocol.IsIPv6():
		at += proxyIPv6Bytes
	default:
		return nil
	}
	raw, err := h.Format() // for IP addresses, exactly what was received
	if err != nil {
		return fmt.Errorf("checking PROXY header: %w", err)
	}

	for at < len(raw) {
		if len(raw)-at < proxyTLVBytes {
			return fmt.Errorf("checking PROXY header: %w", proxyproto.ErrTruncatedTLV)
		}
		kind := proxyproto.PP2Type(raw[at])
		size := int(binary.BigEndian.Uint16(raw[at+1:]))
		at += proxyTLVBytes
		if size > len(raw)-at {
			return fmt.Errorf("checking PROXY header: %w", proxyproto.ErrTruncatedTLV)
		}
		if kind == proxyproto.PP2_TYPE_CRC32C {
			if err := checkSum(raw, raw[at:at+size]); err != nil {
				return fmt.Errorf("checking PROXY header: %w", err)
			}
		}
		at += size
	}
	return nil
}

// checkSum compares sum, a part of header, with the CRC-32C of the whole header
// in which sum itself counts as zeros (§2.2.3). It leaves sum zeroed.
func checkSum(header, sum []byte) error {
	if len(sum) != crc32.Size {
		return fmt.Errorf("checksum has %d bytes, want %d", len(sum), crc32.Size)
	}
	want := binary.BigEndian.Uint32(sum)
	clear(sum)
	if got := crc32.Checksum(header, crc32.MakeTable(crc32.Castagnoli)); got != want {
		return fmt.Errorf("checksum is %08x, header says %08x", got, want)
	}
	return nil
}
