// Pointsman is the service that the viewers of an OTT or IPTV operator ask
// first: it decides which of the operator's streaming servers should serve this
// viewer this channel now, and answers with a 302.
//
// Run `pointsman` alone for the commands, `pointsman COMMAND -h` for the flags
// of one. The README describes the endpoints, the signals and the reasons.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	_ "time/tzdata" // zones of archive times, also where the system has none
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is one subcommand; run returns the exit status.
type command struct {
	name, args, summary string
	run                 func(args []string, s streams) int
}

func commands() []command {
	return []command{
		{"serve", "-config FILE", "answer viewers", serve},
		{"check", "-config FILE", "say what is wrong or doubtful in a configuration", check},
		{"explain", "-config FILE -ip ADDR URL", "say where a viewer would be sent, and why", explain},
		{"decorate", "-config FILE URL|-", "write content steering into a playlist or MPD", decorate},
		{"plan", "-config FILE", "say what servers carry, also when others fail or the configuration changes", runPlan},
		{"demo", "", "run three small streaming servers, two redirectors and a page with players", runDemo},
		{"version", "", "print the version", version},
	}
}

func main() {
	setLogFormat()
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

func run(args []string, s streams) int {
	if len(args) == 0 {
		usage(s.out)
		return exitOK
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(s.out)
		return exitOK
	case "-version", "--version":
		return version(nil, s)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(args[1:], s)
		}
	}
	fmt.Fprintf(s.err, "pointsman: there is no command %q\n\n", args[0])
	usage(s.err)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Pointsman redirects the viewers of streaming video to the right server.\n\nusage: pointsman COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %-28s %s\n", c.name, c.args, c.summary)
	}
	fmt.Fprint(w, "\n`pointsman COMMAND -h` lists the flags of a command; flags take one or two dashes.\n"+
		"Try `pointsman demo` first.\n")
}

// flags makes the flag set of a command with its usage text.
func flags(name, args, text string, s streams) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(s.err)
	fs.Usage = func() {
		fmt.Fprintf(s.err, "usage: pointsman %s %s\n\n%s\n", name, args, text)
		hasFlags := false
		fs.VisitAll(func(*flag.Flag) { hasFlags = true })
		if hasFlags {
			fmt.Fprint(s.err, "\nflags:\n")
			fs.PrintDefaults()
		}
	}
	return fs
}

// parse reads the flags and checks the number of other arguments; done is true
// when the command ends here, with status.
func parse(fs *flag.FlagSet, args []string, wantArgs int, s streams) (status int, done bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, true
	case err != nil:
		return exitUsage, true
	}
	if fs.NArg() != wantArgs {
		fmt.Fprintf(s.err, "pointsman %s: %d arguments beside the flags, expected %d\n\n", fs.Name(), fs.NArg(), wantArgs)
		fs.Usage()
		return exitUsage, true
	}
	return exitOK, false
}
