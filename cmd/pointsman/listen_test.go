package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms/config"
)

// TestStampSeesARenamedSymlink: that is how Kubernetes changes a ConfigMap and
// how certificates are rotated: the file's path, size and time may all stay.
func TestStampSeesARenamedSymlink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("inodes are only compared on Linux")
	}
	dir := t.TempDir()
	at := time.Now().Add(-time.Hour)
	for _, version := range []string{"v1", "v2"} {
		file := filepath.Join(dir, version, "pointsman.json")
		must(t, os.Mkdir(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte("same size "+version), 0o600))
		must(t, os.Chtimes(file, at, at))
	}
	must(t, os.Symlink("v1", filepath.Join(dir, "data")))
	must(t, os.Symlink(filepath.Join("data", "pointsman.json"), filepath.Join(dir, "pointsman.json")))
	path := filepath.Join(dir, "pointsman.json")
	first := stamp(path)
	if first == "" || stamp(path) != first {
		t.Errorf("stamps %q and %q of the same file", first, stamp(path))
	}
	must(t, os.Symlink("v2", filepath.Join(dir, "data.new")))
	must(t, os.Rename(filepath.Join(dir, "data.new"), filepath.Join(dir, "data")))
	if stamp(path) == first {
		t.Error("the swapped symbolic link was not seen")
	}
	must(t, os.Remove(filepath.Join(dir, "data")))
	if got := stamp(path); got != "" {
		t.Errorf("a file that is gone has the stamp %q", got)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writePair writes a self-signed certificate for a name and its key.
func writePair(t testing.TB, certFile, keyFile, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	spec := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, spec, spec, &key.PublicKey, key)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
}

// shown returns the name of the certificate that a viewer is shown who asks for
// the given one.
func shown(t testing.TB, c *certificates, name string) string {
	t.Helper()
	ours, his := net.Pipe()
	defer ours.Close()
	defer his.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	server := tls.Server(ours, c.tlsConfig())
	done := make(chan error, 1)
	go func() { done <- server.HandshakeContext(ctx) }()
	client := tls.Client(his, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	must(t, client.HandshakeContext(ctx))
	must(t, <-done)
	state := client.ConnectionState()
	if state.Version < tls.VersionTLS12 || state.NegotiatedProtocol != "" {
		t.Errorf("TLS %x, protocol %q", state.Version, state.NegotiatedProtocol)
	}
	return state.PeerCertificates[0].Subject.CommonName
}

func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	writePair(t, file("a.pem"), file("a.key"), "a.example")
	writePair(t, file("b.pem"), file("b.key"), "b.example")
	c, err := newCertificates([]config.Certificate{{CertFile: file("a.pem"), KeyFile: file("a.key")}, {CertFile: file("b.pem"), KeyFile: file("b.key")}})
	must(t, err)
	for ask, want := range map[string]string{"a.example": "a.example", "b.example": "b.example", "other.example": "a.example"} {
		if got := shown(t, c, ask); got != want {
			t.Errorf("who asks for %s is shown %s, want %s", ask, got, want)
		}
	}
	if c.changed() {
		t.Error("changed, and nothing has")
	}

	// Half of a rotation: the certificate is new, its key is not. The pairs
	// before stay in force until both are there.
	writePair(t, file("b.pem"), file("b2.key"), "b2.example")
	if !c.changed() {
		t.Error("a new certificate was not seen")
	}
	if err := c.load(); err == nil || !strings.Contains(err.Error(), "b.pem") {
		t.Errorf("a certificate with the key of another: %v", err)
	}
	if got := shown(t, c, "b.example"); got != "b.example" {
		t.Errorf("during a rotation %s is shown", got)
	}
	if c.changed() {
		t.Error("what could not be loaded is tried all the time")
	}
	must(t, os.Rename(file("b2.key"), file("b.key")))
	if !c.changed() {
		t.Error("the new key was not seen")
	}
	must(t, c.load())
	if got := shown(t, c, "b2.example"); got != "b2.example" {
		t.Errorf("after the rotation %s is shown", got)
	}

	must(t, os.Remove(file("a.key")))
	if !c.changed() {
		t.Error("a removed key was not seen")
	}
	if err := c.load(); err == nil {
		t.Error("a pair without key was loaded")
	}
	if got := shown(t, c, "a.example"); got != "a.example" {
		t.Errorf("after the key was removed %s is shown", got)
	}
}

func TestCertificatesThatAreNotThere(t *testing.T) {
	t.Parallel()
	_, err := newCertificates([]config.Certificate{{CertFile: "/nonexistent/a.pem", KeyFile: "/nonexistent/a.key"}})
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/a.pem") {
		t.Errorf("%v, want an error that names the file", err)
	}
}

// TestFastCGIPanicIsCaught: the library would let it end the process, and say
// 200 for a request that was not answered.
func TestFastCGIPanicIsCaught(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &fcgiServer{log: zerolog.New(&log), handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a broken table") })}
	rw := httptest.NewRecorder()
	s.ServeHTTP(rw, httptest.NewRequest("GET", "/ch/index.m3u8", nil))
	if rw.Code != http.StatusInternalServerError {
		t.Errorf("answered %d, want 500", rw.Code)
	}
	if !strings.Contains(log.String(), "a broken table") {
		t.Errorf("logged %q", log.String())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.shutdown(ctx, l); err != nil {
		t.Errorf("after a panic, shutting down: %v", err)
	}
}

// TestFastCGIShutdownWaits: for the requests under way, and not for ever.
func TestFastCGIShutdownWaits(t *testing.T) {
	t.Parallel()
	begun, hold := make(chan struct{}), make(chan struct{})
	s := &fcgiServer{log: zerolog.Nop(), handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(begun); <-hold })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}()
	<-begun
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.shutdown(ctx, l); err == nil {
		t.Error("shut down with a request under way, and no error")
	}
	close(hold)
	<-done
}

func TestListenOnSaysWhat(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	addr := l.Addr().(*net.TCPAddr)
	_, err = listenOn("viewers (core.port)", addr.AddrPort().Addr(), addr.Port)
	if err == nil || !strings.HasPrefix(err.Error(), "listening for viewers (core.port): ") {
		t.Errorf("a port that is taken: %v", err)
	}
}
