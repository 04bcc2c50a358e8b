package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// writeCertificate writes a certificate and its key into dir.
func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"tv.example"}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTLSFilesOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeCertificate(t, dir)
	text := section(t, "core", `{"tls": {"port": 9443, "certificates": [{"cert_file": "cert.pem", "key_file": "key.pem"}]}, "state_dir": "state"}`)
	text = strings.TrimSuffix(strings.TrimSpace(text), "}") + `, "log": {"decisions_file": "decisions.log"}}`
	d, findings := Parse(Source{Data: []byte(text), Dir: dir})
	want := []string{`warning redirection.farms[0]: has no server for https viewers (an https url or https_url), and core.tls lets them in`}
	if diff := cmp.Diff(want, texts(findings)); diff != "" {
		t.Fatal(diff)
	}
	if got, want := d.Core.TLS.Certificates[0].CertFile, filepath.Join(dir, "cert.pem"); got != want {
		t.Errorf("cert_file is %q, expected %q", got, want)
	}
	if got, want := d.Core.StateDir, filepath.Join(dir, "state"); got != want {
		t.Errorf("state_dir is %q, expected %q", got, want)
	}
	if got, want := d.Log.DecisionsFile, filepath.Join(dir, "decisions.log"); got != want {
		t.Errorf("decisions_file is %q, expected %q", got, want)
	}
	text = strings.Replace(text, `"url": "http://192.0.2.2"`, `"url": "http://192.0.2.2", "https_url": "https://edge.example/"`, 1)
	if _, findings = Parse(Source{Data: []byte(text), Dir: dir}); len(findings) > 0 {
		t.Errorf("findings: %v, expected none", texts(findings))
	}
}

func TestFilesThatAreNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, maxSecretBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(file string) string { return section(t, "admin", `{"token_file": "`+file+`"}`) }
	for _, tc := range []struct{ name, file, want string }{
		{"missing", "none", "no such file or directory"},
		{"directory", "", "is empty, expected the path of a file"},
		{"parent", "..", "not a regular file"},
		{"device", "/dev/zero", "not a regular file"},
		{"large", "large", "more than 65536 bytes"},
		{"nul", `a\u0000b`, "invalid argument"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, findings := Parse(Source{Data: []byte(text(tc.file)), Dir: dir})
			if d != nil || len(findings) != 1 || !strings.HasSuffix(findings[0].Message, tc.want) {
				t.Errorf("findings: %v, expected one that ends in %q", texts(findings), tc.want)
			}
		})
	}
}
