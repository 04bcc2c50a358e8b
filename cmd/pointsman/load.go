package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/pointsman-tv/pointsman/farms/config"
)

// maxConfig bounds a configuration that is read; the parser has its own bound
// and its own words for what is beyond.
const maxConfig = 65 << 20

// readConfig reads a configuration file, or standard input for "-".
func readConfig(path string, in io.Reader) (config.Source, error) {
	src := config.Source{LocalAddrs: localAddrs()}
	if path == "-" {
		data, err := io.ReadAll(io.LimitReader(in, maxConfig))
		if err != nil {
			return src, fmt.Errorf("reading the configuration from standard input: %w", err)
		}
		src.Data = data
		return src, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return src, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	if src.Data, err = io.ReadAll(io.LimitReader(f, maxConfig)); err != nil {
		return src, fmt.Errorf("reading the configuration: %w", err)
	}
	src.Dir = filepath.Dir(path)
	return src, nil
}

// localAddrs returns this machine's own addresses; none when they cannot be
// learned, which only makes `check` less sharp.
func localAddrs() []netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap().WithZone(""))
		}
	}
	return out
}

// printFindings writes one line per finding and counts the errors.
func printFindings(w io.Writer, findings []config.Finding) (errors int) {
	for _, f := range findings {
		fmt.Fprintln(w, f)
		if f.Severity == config.Error {
			errors++
		}
	}
	return errors
}
