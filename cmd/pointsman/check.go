package main

import (
	"fmt"

	"github.com/pointsman-tv/pointsman/farms/config"
)

func check(args []string, s streams) int {
	fs := flags("check", "-config FILE", "Prints one line per finding: `error PATH: message` or `warning PATH: message`,\n"+
		"or `error line L column C: message` where the file is not JSON.\nThe exit status is 1 when there is an error, 0 with warnings alone.", s)
	path := fs.String("config", "", "the configuration `FILE`, or - for standard input")
	if status, done := parse(fs, args, 0, s); done {
		return status
	}
	if *path == "" {
		fmt.Fprintln(s.err, "pointsman check: -config FILE is needed")
		return exitUsage
	}
	src, err := readConfig(*path, s.in)
	if err != nil {
		fmt.Fprintln(s.out, "error:", err)
		return exitError
	}
	doc, findings := config.Parse(src)
	if printFindings(s.out, findings) > 0 {
		return exitError
	}
	fmt.Fprintf(s.err, "%s is good: %d farms, %d locations\n", *path, len(doc.Redirection.Farms), len(doc.Redirection.Locations))
	return exitOK
}
