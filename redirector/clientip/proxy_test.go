package clientip_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

const (
	signature = "\r\n\r\n\x00\r\nQUIT\n"
	v4Block   = "\xcb\x00\x71\x09\xc0\x00\x02\x01\x12\x67\x00\x50" // 203.0.113.9:4711 to 192.0.2.1:80
	request   = "GET / HTTP/1.1\r\nHost: edge.example\r\nConnection: close\r\n\r\n"

	closed = "closed" // without a byte written
	peer   = "peer"   // served as the real peer
)

var v6Block = string(append(append(
	netip.MustParseAddr("2001:db8::9").AsSlice(),
	netip.MustParseAddr("2001:db8::1").AsSlice()...),
	0x12, 0x67, 0x00, 0x50))

func unixBlock() string {
	block := make([]byte, 216)
	copy(block, "/run/viewer.sock")
	copy(block[108:], "/run/pointsman.sock")
	return string(block)
}

// v2 builds a version 2 header with a true length.
func v2(versionAndCommand, family byte, payload string) string {
	return v2Length(versionAndCommand, family, len(payload), payload)
}

func v2Length(versionAndCommand, family byte, length int, payload string) string {
	head := append([]byte(signature), versionAndCommand, family)
	return string(binary.BigEndian.AppendUint16(head, uint16(length))) + payload
}

// withChecksum builds a version 2 IPv4 header with padding and a CRC-32C that
// delta is added to.
func withChecksum(delta uint32) string {
	header := []byte(v2(0x21, 0x11, v4Block+"\x04\x00\x02xx\x03\x00\x04\x00\x00\x00\x00"))
	sum := crc32.Checksum(header, crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(header[len(header)-4:], sum+delta)
	return string(header)
}

// TestProxyListener serves HTTP over real sockets. B52 and B53 are lines of the
// bad-input matrix.
func TestProxyListener(t *testing.T) {
	t.Parallel()

	longest := "PROXY UNKNOWN " + strings.Repeat("f", 107-16) + "\r\n"
	tests := []struct {
		name      string
		header    string
		trusted   string // what a trusted peer gets: an address, peer, closed or a status
		untrusted string
	}{
		{"no_header", "", closed, peer},
		{"v1_tcp4", "PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\n", "203.0.113.9:4711", closed},
		{"v1_tcp6", "PROXY TCP6 2001:db8::9 2001:db8::1 4711 80\r\n", "[2001:db8::9]:4711", closed},
		{"v1_unknown", "PROXY UNKNOWN\r\n", peer, closed},
		{"v1_unknown_with_addresses", "PROXY UNKNOWN 203.0.113.9 192.0.2.1 4711 80\r\n", peer, closed},
		{"v1_longest_line", longest, peer, closed},
		{"B52_v1_108_bytes", strings.Replace(longest, "UNKNOWN ", "UNKNOWN f", 1), closed, closed},
		{"B52_v1_bare_LF", "PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\n", closed, closed},
		{"B52_v1_no_CRLF", "PROXY TCP4 203.0.113.9 192.0.2.1 4711 80", closed, closed},
		{"B52_v1_leading_zeros", "PROXY TCP4 203.000.113.009 192.0.2.1 4711 80\r\n", closed, closed},
		{"B52_v1_port_leading_zero", "PROXY TCP4 203.0.113.9 192.0.2.1 04711 80\r\n", closed, closed},
		{"v1_port_too_great", "PROXY TCP4 203.0.113.9 192.0.2.1 65536 80\r\n", closed, closed},
		{"v1_zone", "PROXY TCP6 fe80::1%eth0 2001:db8::1 4711 80\r\n", closed, closed},
		{"v1_wrong_family", "PROXY TCP4 2001:db8::9 2001:db8::1 4711 80\r\n", closed, closed},
		{"v1_two_spaces", "PROXY  TCP4 203.0.113.9 192.0.2.1 4711 80\r\n", closed, closed},
		{"v1_short", "PROXY TCP4 203.0.113.9\r\n", closed, closed},
		{"v1_lower_case", "proxy TCP4 203.0.113.9 192.0.2.1 4711 80\r\n", closed, "400"},
		{"v1_sent_twice", "PROXY UNKNOWN\r\nPROXY UNKNOWN\r\n", "400", closed},
		{"v2_tcp4", v2(0x21, 0x11, v4Block), "203.0.113.9:4711", closed},
		{"v2_tcp6", v2(0x21, 0x21, v6Block), "[2001:db8::9]:4711", closed},
		{"v2_udp4", v2(0x21, 0x12, v4Block), "203.0.113.9:4711", closed},
		{"v2_unknown_tlv", v2(0x21, 0x11, v4Block+"\xe0\x00\x01x"), "203.0.113.9:4711", closed},
		{"B53_v2_local", v2(0x20, 0x00, ""), peer, closed},
		{"B53_v2_local_with_address", v2(0x20, 0x11, v4Block), peer, closed},
		{"B53_v2_local_with_odd_block", v2(0x20, 0x11, "xyz"), peer, closed},
		{"B53_v2_unix", v2(0x21, 0x31, unixBlock()), peer, closed},
		{"B53_v2_unspecified", v2(0x21, 0x00, ""), closed, closed},
		{"B53_v2_bad_signature", strings.Replace(v2(0x21, 0x11, v4Block), "QUIT", "QUIX", 1), closed, "400"},
		{"B53_v2_version_1", v2(0x11, 0x11, v4Block), closed, closed},
		{"B53_v2_version_3", v2(0x31, 0x11, v4Block), closed, closed},
		{"v2_unknown_command", v2(0x22, 0x11, v4Block), closed, closed},
		{"v2_unknown_family", v2(0x21, 0x41, v4Block), closed, closed},
		{"v2_unknown_transport", v2(0x21, 0x13, v4Block), closed, closed},
		{"v2_short_length", v2Length(0x21, 0x11, 11, v4Block), closed, closed},
		{"v2_length_beyond_data", v2Length(0x21, 0x11, 4096, v4Block), closed, closed},
		{"B53_v2_length_65535", v2Length(0x21, 0x11, 65535, v4Block), closed, closed},
		{"B53_v2_tlv_without_length", v2(0x21, 0x11, v4Block+"\xe0\x00"), closed, closed},
		{"B53_v2_tlv_too_long", v2(0x21, 0x11, v4Block+"\xe0\x00\x09x"), closed, closed},
		{"v2_checksum", withChecksum(0), "203.0.113.9:4711", closed},
		{"B53_v2_checksum_mismatch", withChecksum(1), closed, closed},
		{"v2_checksum_of_two_bytes", v2(0x21, 0x11, v4Block+"\x03\x00\x02xx"), closed, closed},
	}
	trusting, wary := serve(t, "127.0.0.0/8"), serve(t, "192.0.2.0/24")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			if got := ask(t, trusting, tt.header+request); got != tt.trusted {
				t.Errorf("trusted peer got %q, want %q", got, tt.trusted)
			}
			if got := ask(t, wary, tt.header+request); got != tt.untrusted {
				t.Errorf("untrusted peer got %q, want %q", got, tt.untrusted)
			}
		})
	}
}

// serve answers every request with its RemoteAddr and returns where.
func serve(t *testing.T, trusted string) string {
	t.Helper()

	r, err := clientip.New([]netip.Prefix{netip.MustParsePrefix(trusted)}, clientip.XForwardedFor)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr); local.String() != inner.Addr().String() {
				t.Errorf("local address is %v, want %v", local, inner.Addr())
			}
			_, _ = io.WriteString(w, r.RemoteAddr)
		}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(clientip.ProxyListener(inner, r, 10*time.Second))
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return inner.Addr().String()
}

// ask sends bytes and says what came back.
func ask(t *testing.T, address, data string) string {
	t.Helper()

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, data); err != nil {
		t.Fatal(err)
	}
	// The end of our half makes a server that waits for more give up at once.
	// It fails when the server has closed already, which the answer tells too.
	_ = conn.(*net.TCPConn).CloseWrite()

	answer, _ := io.ReadAll(conn) // a reset is one way to be closed
	if len(answer) == 0 {
		return closed
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		t.Fatalf("reading %q: %v", answer, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		t.Fatalf("reading body: %v", err)
	case response.StatusCode == http.StatusBadRequest:
		return "400"
	case string(body) == conn.LocalAddr().String():
		return peer
	}
	return string(body)
}

// oneConn is a listener with one connection to accept, from remote.
type oneConn struct {
	net.Conn
	remote net.Addr
}

func (c *oneConn) Accept() (net.Conn, error) { return c, nil }
func (c *oneConn) Addr() net.Addr            { return c.LocalAddr() }
func (c *oneConn) RemoteAddr() net.Addr      { return c.remote }

func TestProxyHeaderIsAwaitedInTheConnectionAndNotForever(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name    string
		timeout time.Duration
		drip    string // one byte a second
		want    time.Duration
	}{
		{"silent", 3 * time.Second, "", 3 * time.Second},
		{"dripping", 3 * time.Second, signature, 3 * time.Second},
		{"v1_in_pieces", 10 * time.Second, "PROXY TCP4 ", 4 * time.Second}, // given up after its fifth byte
		{"default", 0, "", 5 * time.Second},
		{"negative", -1, signature, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer func() { _ = theirs.Close() }()
				inner := &oneConn{Conn: ours, remote: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 10), Port: 1}}
				listener := clientip.ProxyListener(inner, newResolver(t, clientip.XForwardedFor), tt.timeout)
				start := time.Now()

				conn, err := listener.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				_ = conn.LocalAddr()
				if waited := time.Since(start); waited != 0 {
					t.Errorf("Accept took %v", waited)
				}
				go func() {
					for i := range len(tt.drip) {
						if _, err := theirs.Write([]byte{tt.drip[i]}); err != nil {
							return
						}
						select {
						case <-time.After(time.Second):
						case <-t.Context().Done():
							return
						}
					}
				}()

				if got := conn.RemoteAddr().String(); got != "192.0.2.10:1" {
					t.Errorf("remote address is %s", got)
				}
				if waited := time.Since(start); waited != tt.want {
					t.Errorf("the header was awaited for %v, want %v", waited, tt.want)
				}
				if _, err := conn.Read(make([]byte, 1)); err == nil {
					t.Error("Read works without a header")
				}
				if _, err := conn.Write([]byte("x")); err == nil {
					t.Error("Write works without a header")
				}
			})
		})
	}
}

func TestProxyConnClosesItsSendingHalf(t *testing.T) {
	t.Parallel()

	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inner.Close() }()
	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	conn, err := clientip.ProxyListener(inner, newResolver(t, clientip.XForwardedFor), time.Second).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()

	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("client read %d bytes, %v, want the end", n, err)
	}
}

// bytesConn is a connection that delivers some bytes and then ends.
type bytesConn struct {
	net.Conn // nil: nothing else is called
	reader   *bytes.Reader
}

func (c *bytesConn) Read(p []byte) (int, error)      { return c.reader.Read(p) }
func (c *bytesConn) SetReadDeadline(time.Time) error { return nil }

// FuzzProxyHeader holds that whatever a peer begins with, its address stays one
// that can be read, and only a trusted peer's header changes it.
func FuzzProxyHeader(f *testing.F) {
	f.Add([]byte("PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\n"+request), true)
	f.Add([]byte("PROXY UNKNOWN\r\n"+request), true)
	f.Add([]byte(v2(0x21, 0x21, v6Block)+request), true)
	f.Add([]byte(v2(0x21, 0x31, unixBlock())+request), true)
	f.Add([]byte(withChecksum(0)+request), true)
	f.Add([]byte(v2Length(0x20, 0x11, 65535, "xyz")), true)
	f.Add([]byte("PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\n"+request), false)
	f.Add([]byte(request), false)
	f.Fuzz(func(t *testing.T, data []byte, trusted bool) {
		remote := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 7), Port: 40000}
		if trusted {
			remote.IP = net.IPv4(192, 0, 2, 10)
		}
		inner := &oneConn{Conn: &bytesConn{reader: bytes.NewReader(data)}, remote: remote}
		conn, err := clientip.ProxyListener(inner, newResolver(t, clientip.XForwardedFor), time.Second).Accept()
		if err != nil {
			t.Fatal(err)
		}

		got := conn.RemoteAddr().String()
		rest, err := io.ReadAll(conn)
		if _, ok := clientip.ParsePeer(got); !ok {
			t.Fatalf("remote address is %q", got)
		}
		if (err != nil || !trusted) && got != remote.String() {
			t.Fatalf("remote address is %s without a trusted header (%v)", got, err)
		}
		if err == nil && !bytes.HasSuffix(data, rest) {
			t.Fatalf("%q was read after the header of %q", rest, data)
		}
		if err == nil && !trusted && len(rest) != len(data) {
			t.Fatalf("%d bytes of an untrusted peer were eaten", len(data)-len(rest))
		}
	})
}
