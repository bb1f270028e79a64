// gRPC in Go as a peer of the bench: bench/src/protocol.ts says what is said to it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

type command struct {
	Prepare     *task
	Connections int
	Run         *task
	Amount      int
	Usage       *struct{ Collect bool }
}

type usage struct {
	Cpu           int64   `json:"cpu"`
	Megabytes     float64 `json:"megabytes"`
	PeakMegabytes float64 `json:"peakMegabytes"`
}

type run struct {
	usage
	outcome
}

type answer map[string]any

func main() {
	if len(os.Args) < 5 {
		log.Fatal("usage: peer server HOST CERT KEY | peer client HOST PORT CERT")
	}
	var client *client
	role, host := os.Args[1], os.Args[2]
	if role == "server" {
		port, err := serve(host, os.Args[3], os.Args[4])
		if err != nil {
			log.Fatal(err)
		}
		say(answer{"ready": port})
	} else {
		var err error
		if client, err = newClient(host+":"+os.Args[3], os.Args[4]); err != nil {
			log.Fatal(err)
		}
		say(answer{"ready": 0})
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked command
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		said, err := answerTo(asked, client)
		if err != nil {
			said = answer{"failed": err.Error()}
		}
		say(said)
	}
}

func answerTo(asked command, client *client) (answer, error) {
	switch {
	case asked.Usage != nil:
		if asked.Usage.Collect {
			debug.FreeOSMemory()
		}
		return answer{"usage": usageNow()}, nil
	case asked.Prepare != nil:
		if !client.can(asked.Prepare) {
			return answer{"cannot": true}, nil
		}
		return answer{"ready": 0}, client.prepare(asked.Prepare, asked.Connections)
	case asked.Run != nil:
		before := usageNow()
		done, err := client.run(asked.Run, asked.Amount)
		after := usageNow()
		after.Cpu -= before.Cpu
		return answer{"run": run{after, done}}, err
	}
	return nil, fmt.Errorf("no such command")
}

func usageNow() usage {
	var of syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &of); err != nil {
		log.Fatal(err)
	}
	micros := func(t syscall.Timeval) int64 { return t.Sec*1_000_000 + t.Usec }
	return usage{micros(of.Utime) + micros(of.Stime), resident(), float64(of.Maxrss) / 1024}
}

// resident is in MB; 0 where there is no /proc.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages string
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	count, _ := strconv.Atoi(pages)
	return float64(count*os.Getpagesize()) / (1 << 20)
}

func say(what answer) {
	line, err := json.Marshal(what)
	if err != nil {
		log.Fatal(err)
	}
	os.Stdout.Write(append(line, '\n'))
}
