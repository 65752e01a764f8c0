package main

import (
	"fmt"
	"io"
	"strings"
)

const (
	// width of what is printed, in columns.
	width = 100
	// clock is how times of day are printed; the kubelet gives whole seconds for the ends of containers.
	clock, wholeSeconds = "15:04:05.000", "15:04:05"
)

// print writes one line for each event, folded where it is too long.
func (e *ending) print(out io.Writer) {
	for _, event := range e.events {
		after, at := fmt.Sprintf("%+.1f s", event.at.Sub(e.deleted).Seconds()), event.at.Format(clock)
		if event.whole {
			after, at = "", event.at.Format(wholeSeconds)
		}
		prefix := fmt.Sprintf("%8s  %-12s  %-22s  ", after, at, event.source)
		for _, line := range fold(event.what, width-len(prefix)) {
			fmt.Fprintln(out, prefix+line)
			prefix = strings.Repeat(" ", len(prefix))
		}
	}
}

// fold breaks a text into lines at spaces.
func fold(text string, columns int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= columns:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
