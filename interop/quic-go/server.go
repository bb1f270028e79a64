package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"
)

// How the session of the last "watchclose" ended.
var lastClose = make(chan string, 1)

func serve(directory string) error {
	certificate, err := tls.LoadX509KeyPair(directory+"/cert.pem", directory+"/key.pem")
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	listener, err := quic.Listen(socket, &tls.Config{
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{"h3", alpn},
	}, quicConfig)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	server := &webtransport.Server{
		H3:          &http3.Server{Handler: mux, EnableDatagrams: true},
		Config:      limits,
		CheckOrigin: func(*http.Request) bool { return true },
	}
	webtransport.ConfigureHTTP3Server(server.H3)
	mux.HandleFunc("/status/", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/status/"))
		w.WriteHeader(status)
	})
	mux.HandleFunc("/requests", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "x-sum")
		all, err := io.ReadAll(r.Body)
		if err != nil {
			fmt.Fprintln(logs, "request:", err)
			return
		}
		w.Write(all)
		w.Header().Set("x-sum", r.Trailer.Get("x-sum"))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		accepted, err := server.Upgrade(w, r)
		if err != nil {
			fmt.Fprintln(logs, "upgrade:", err)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		serveSession(webSession{accepted})
	})
	fmt.Println("port", socket.LocalAddr().(*net.UDPAddr).Port)
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		if connection.ConnectionState().TLS.NegotiatedProtocol == "h3" {
			go server.ServeQUICConn(connection)
		} else {
			go serveSession(quicSession{connection})
		}
	}
}

func serveSession(s session) {
	ctx := s.Context()
	go func() {
		for {
			accepted, err := s.acceptUni(ctx)
			if err != nil {
				return
			}
			go echoUni(s, accepted)
		}
	}()
	go func() {
		for {
			datagram, err := s.ReceiveDatagram(ctx)
			if err != nil {
				return
			}
			s.SendDatagram(datagram)
		}
	}()
	for {
		accepted, err := s.accept(ctx)
		if err != nil {
			return
		}
		go func() {
			if err := obey(s, accepted); err != nil && ctx.Err() == nil {
				fmt.Fprintln(logs, "stream:", err)
			}
		}()
	}
}

func echoUni(s session, from io.Reader) error {
	all, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	to, err := s.openUni(s.Context())
	if err != nil {
		return err
	}
	return send(to, bytes.TrimPrefix(all, []byte("echo\n")))
}

// Writes and ends.
func send(to io.WriteCloser, data []byte) error {
	if _, err := to.Write(data); err != nil {
		return err
	}
	return to.Close()
}

func obey(s session, str stream) error {
	reader := bufio.NewReader(str)
	line, err := reader.ReadString('\n')
	if err != nil {
		return err
	}
	words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
	number := 0
	if len(words) > 1 {
		number, _ = strconv.Atoi(words[1])
	}
	switch words[0] {
	case "echo":
		if _, err := io.Copy(str, reader); err != nil {
			return err
		}
		return str.Close()
	case "count":
		received, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		if !bytes.Equal(received, pattern(len(received))) {
			return send(str, []byte("wrong bytes"))
		}
		return send(str, []byte(strconv.Itoa(len(received))))
	case "send":
		return send(str, pattern(number))
	case "reset":
		str.Write([]byte("x"))
		str.reset(uint32(number))
	case "stop":
		str.stop(uint32(number))
		return str.Close()
	case "watch":
		str.Write([]byte("ok\n"))
		_, err := io.ReadAll(reader)
		code, ok := streamCode(err)
		if !ok {
			return fmt.Errorf("no reset, but %w", err)
		}
		return send(str, fmt.Appendf(nil, "reset %d", code))
	case "stopped":
		str.Write([]byte("ok\n"))
		code, err := stopCode(s.Context(), str)
		if err != nil {
			return err
		}
		to, err := s.openUni(s.Context())
		if err != nil {
			return err
		}
		return send(to, fmt.Appendf(nil, "stop %d", code))
	case "open":
		opened, err := s.open(s.Context())
		if err != nil {
			return err
		}
		if err := send(opened, []byte("hello")); err != nil {
			return err
		}
		answer, err := io.ReadAll(opened)
		if err != nil {
			return err
		}
		return send(str, answer)
	case "close":
		s.close(uint32(number), words[2])
	case "watchclose":
		if err := send(str, []byte("ok\n")); err != nil {
			return err
		}
		<-s.Context().Done()
		code, reason, ok := closeInfo(context.Cause(s.Context()))
		if !ok {
			// The cause is not kept for WebTransport sessions; their methods tell it.
			_, err := s.accept(context.Background())
			code, reason, _ = closeInfo(err)
		}
		lastClose <- fmt.Sprintf("%d %s", code, reason)
	case "last":
		return send(str, []byte(<-lastClose))
	default:
		return fmt.Errorf("unknown command %q", line)
	}
	return nil
}
