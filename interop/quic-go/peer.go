// Command peer is quic-go and webtransport-go as a peer: the commands and scenarios of ../README.md.
//
//	peer server DIRECTORY                           certificate in DIRECTORY; prints "port N"
//	peer client DIRECTORY PORT quic|webtransport SCENARIO...
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/quic-go/quic-go"
)

const (
	alpn = "interop"
	size = 10 << 20
)

var logs = os.Stderr

var quicConfig = &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true}

func pattern(length int) []byte {
	data := make([]byte, length)
	for index := range data {
		data[index] = byte(index % 251)
	}
	return data
}

func main() {
	arguments := os.Args[2:]
	if os.Args[1] == "server" {
		fmt.Fprintln(logs, serve(arguments[0]))
		os.Exit(1)
	}
	c, err := newClient(arguments[0], arguments[1], arguments[2])
	if err != nil {
		fmt.Fprintln(logs, err)
		os.Exit(1)
	}
	for _, scenario := range arguments[3:] {
		if err := c.run(scenario); err != nil {
			fmt.Printf("%s\tfailed\t%s\n", scenario, strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Printf("%s\tok\n", scenario)
		}
	}
}
