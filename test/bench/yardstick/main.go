// Command yardstick decodes a JSON file once with encoding/json into an any, and prints how many nanoseconds that took. The
// bench compares other programs with it; a process of its own shows what memory the decoding takes.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	start := time.Now()
	var decoded any
	err = json.Unmarshal(data, &decoded)
	took := time.Since(start)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	runtime.KeepAlive(decoded)
	fmt.Println(took.Nanoseconds())
}
