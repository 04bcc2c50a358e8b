package steering

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func TestParseKeys(t *testing.T) {
	t.Parallel()
	one, two := keyOf(0xfb), keyOf(0x3e) // base64 of 0xfb has + and /, and - and _
	url, std, hexa := base64.RawURLEncoding.EncodeToString(one), base64.StdEncoding.EncodeToString(one), hex.EncodeToString(two)
	for name, c := range map[string]struct {
		text string
		want [][]byte
	}{
		"base64url":         {url, [][]byte{one}},
		"base64":            {std + "\n", [][]byte{one}},
		"padded_base64url":  {base64.URLEncoding.EncodeToString(one), [][]byte{one}},
		"hexadecimal":       {hexa, [][]byte{two}},
		"upper_case":        {strings.ToUpper(hexa), [][]byte{two}},
		"order_is_kept":     {hexa + "\n" + url, [][]byte{two, one}},
		"comments":          {"# first\n\n  " + url + " # until May\r\n#" + hexa + "\n\t" + hexa + "#x", [][]byte{one, two}},
		"longest":           {strings.Repeat("ab", 128), [][]byte{bytes.Repeat([]byte{0xab}, 128)}},
		"written_by_us":     {string(FormatKeys([][]byte{one, two})), [][]byte{one, two}},
		"byte_order_marked": {"\ufeff# written in an editor\n" + url, nil},
	} {
		got, err := ParseKeys([]byte(c.text))
		if c.want == nil {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %d keys, %v", name, len(got), err)
			continue
		}
		for i := range got {
			if !bytes.Equal(got[i], c.want[i]) {
				t.Errorf("%s: key %d is another", name, i+1)
			}
		}
	}
}

// TestParseKeysRefuses: the error names the line, and never the key.
func TestParseKeysRefuses(t *testing.T) {
	t.Parallel()
	good := hex.EncodeToString(keyOf(0x5a))
	var many strings.Builder
	for i := range byte(17) {
		many.WriteString(hex.EncodeToString(keyOf(i+1)) + "\n")
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "no key in it: one a line is expected, in base64url or hexadecimal"},
		{"comments_only", "# nothing\n\n", "no key in it: one a line is expected, in base64url or hexadecimal"},
		{"short", good + "\n5a5a5a5a", "line 2: a key of 4 bytes, 32 to 128 are expected"},
		{"long", strings.Repeat("5a", 129), "line 1: a key of 129 bytes, 32 to 128 are expected"},
		{"words", "\n\nsecret passphrase", "line 3: neither base64url nor hexadecimal"},
		{"cut_base64", strings.Repeat("Z", 45), "line 1: neither base64url nor hexadecimal"},
		{"binary", "\x00\x01\x02", "line 1: neither base64url nor hexadecimal"},
		{"twice", good + "\n# x\n" + strings.ToUpper(good), "line 3: the same key is there already"},
		{"many", many.String(), "line 17: more than 16 keys"},
		{"large", strings.Repeat("#", 64<<10+1), "more than 65536 bytes: this is not a key file"},
	} {
		_, err := ParseKeys([]byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		} else if strings.Contains(err.Error(), "5a5a") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the key: %v", c.name, err)
		}
	}
}

func TestLoadOrCreateMakesAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "steering.keys")
	random := bytes.NewReader(keyOf(9))
	made, err := LoadOrCreate(path, random)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	again, err := LoadOrCreate(path, iotest.ErrReader(errors.New("must not be asked")))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Ring{again, ringOf(t, 9)} {
		if _, ok := r.Open(made.Seal(sessionAt(issued)), issued); !ok {
			t.Error("the keys are not those of the file")
		}
	}
}

// TestLoadOrCreateAgrees: instances that start at once make one key.
func TestLoadOrCreateAgrees(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "steering.keys")
	rings := make([]*Ring, 16)
	var all sync.WaitGroup
	for i := range rings {
		all.Go(func() {
			var err error
			if rings[i], err = LoadOrCreate(path, bytes.NewReader(keyOf(byte(i)))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	token := rings[0].Seal(sessionAt(issued))
	for i, r := range rings {
		if _, ok := r.Open(token, issued); !ok {
			t.Errorf("instance %d has another key than instance 0", i)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestLoadOrCreateRefuses: what is there is never replaced.
func TestLoadOrCreateRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		want []string
		is   error
	}{
		"empty":        {write("empty", ""), []string{"reading steering key file: ", "empty: no key in it"}, nil},
		"bad_line":     {write("bad", "# x\nnope"), []string{"bad: line 2: "}, nil},
		"too_large":    {write("large", strings.Repeat("#\n", 64<<10)), []string{"large: more than 65536 bytes"}, nil},
		"directory":    {dir, []string{"reading steering key file: "}, nil},
		"no_directory": {filepath.Join(dir, "no", "keys"), []string{"making steering key file: ", "no/"}, fs.ErrNotExist},
		"dangling":     {dangling, []string{"reading steering key file: ", "dangling"}, fs.ErrNotExist},
	} {
		_, err := LoadOrCreate(c.path, bytes.NewReader(keyOf(1)))
		if err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want in it %q", name, err, part)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "empty")); err != nil || len(text) > 0 {
		t.Errorf("the empty file now has %q, %v", text, err)
	}
}

func TestLoadOrCreateWithoutRandomness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := LoadOrCreate(filepath.Join(dir, "keys"), bytes.NewReader(keyOf(1)[:31]))
	if err == nil || !strings.Contains(err.Error(), "making steering key file: drawing a key: ") {
		t.Errorf("got %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestFormatKeysRotates as its comment tells the operator.
func TestFormatKeysRotates(t *testing.T) {
	t.Parallel()
	text := FormatKeys([][]byte{keyOf(1), keyOf(2)})
	keys, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Open(ringOf(t, 2).Seal(sessionAt(issued)), issued.Add(time.Hour)); !ok {
		t.Error("the second key does not verify")
	}
}
