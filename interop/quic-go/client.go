package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"
)

type client struct {
	mode, port string
	tls        *tls.Config
}

func newClient(directory, port, mode string) (*client, error) {
	pem, err := os.ReadFile(directory + "/ca.pem")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	protocol := alpn
	if mode == "webtransport" {
		protocol = "h3"
	}
	return &client{mode, port, &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{protocol}}}, nil
}

// Asks for a session; of one that is refused the status is returned.
func (c *client) connect(ctx context.Context, path string) (session, int, error) {
	connection, err := quic.DialAddr(ctx, "127.0.0.1:"+c.port, c.tls, quicConfig)
	if c.mode == "quic" || err != nil {
		return quicSession{connection}, 200, err
	}
	// A connection dialled by Transport.Dial closes with its session, before the session's end is sent.
	dialer := webtransport.Transport{Config: limits}
	carrier, err := dialer.NewClientConn(connection)
	if err != nil {
		return nil, 0, err
	}
	response, opened, err := carrier.Dial(ctx, "https://127.0.0.1:"+c.port+path, nil)
	if response != nil && response.StatusCode != 200 {
		return nil, response.StatusCode, nil
	}
	return webSession{opened}, 200, err
}

func (c *client) run(scenario string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if scenario == "requests" {
		return c.requests(ctx)
	}
	path := "/"
	if scenario == "reject" {
		path = "/status/403"
	}
	s, status, err := c.connect(ctx, path)
	if err != nil {
		return err
	}
	if scenario == "reject" {
		return expect(status, 403)
	}
	if err := expect(status, 200); err != nil {
		return err
	}
	if err := scenarios[scenario](ctx, s); err != nil {
		return err
	}
	if scenario != "close_sent" {
		s.close(0, "")
		return nil
	}
	other, _, err := c.connect(ctx, "/")
	if err != nil {
		return err
	}
	defer other.close(0, "")
	return answers(ctx, other, "last\n", "81 bye")
}

// Posts 100 bodies of plain HTTP/3 at once, each with a trailer that comes back.
func (c *client) requests(ctx context.Context) error {
	transport := &http3.Transport{TLSClientConfig: c.tls, QUICConfig: quicConfig}
	defer transport.Close()
	results := make(chan error)
	for index := range 100 {
		go func() { results <- c.post(ctx, transport, pattern(500*index), fmt.Sprint("sum ", index)) }()
	}
	for range 100 {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}

func (c *client) post(ctx context.Context, transport *http3.Transport, body []byte, sum string) error {
	url := "https://127.0.0.1:" + c.port + "/requests"
	request, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Trailer = http.Header{"X-Sum": {sum}}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	all, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if !bytes.Equal(all, body) {
		return fmt.Errorf("wrong bytes, %d of them", len(all))
	}
	return expect(response.Trailer.Get("x-sum"), sum)
}

func expect[T comparable](seen, wanted T) error {
	if seen != wanted {
		return fmt.Errorf("expected %v, got %v", wanted, seen)
	}
	return nil
}

func command(ctx context.Context, s session, data []byte) ([]byte, error) {
	str, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := send(str, data); err != nil {
		return nil, err
	}
	return io.ReadAll(str)
}

func answers(ctx context.Context, s session, data, wanted string) error {
	seen, err := command(ctx, s, []byte(data))
	if err != nil {
		return err
	}
	return expect(string(seen), wanted)
}

// Begins a command, reads "ok" and leaves the stream open.
func begin(ctx context.Context, s session, line string) (stream, error) {
	str, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := str.Write([]byte(line)); err != nil {
		return nil, err
	}
	ok := make([]byte, 3)
	if _, err := io.ReadFull(str, ok); err != nil {
		return nil, err
	}
	return str, expect(string(ok), "ok\n")
}

func uniAnswers(ctx context.Context, s session, wanted string) error {
	uni, err := s.acceptUni(ctx)
	if err != nil {
		return err
	}
	seen, err := io.ReadAll(uni)
	if err != nil {
		return err
	}
	return expect(string(seen), wanted)
}

var scenarios = map[string]func(context.Context, session) error{
	"handshake": func(ctx context.Context, s session) error { return answers(ctx, s, "echo\nhello", "hello") },
	"streams": func(ctx context.Context, s session) error {
		results := make(chan error)
		for index := range 200 {
			go func() {
				data := string(pattern(1024 + index))
				results <- answers(ctx, s, "echo\n"+data, data)
			}()
		}
		for range 200 {
			if err := <-results; err != nil {
				return err
			}
		}
		return nil
	},
	"upload": func(ctx context.Context, s session) error {
		return answers(ctx, s, "count\n"+string(pattern(size)), fmt.Sprint(size))
	},
	"download": func(ctx context.Context, s session) error {
		received, err := command(ctx, s, fmt.Appendf(nil, "send %d\n", size))
		if err != nil {
			return err
		}
		if !bytes.Equal(received, pattern(size)) {
			return fmt.Errorf("wrong bytes, %d of them", len(received))
		}
		return nil
	},
	"reset_sent": func(ctx context.Context, s session) error {
		str, err := begin(ctx, s, "watch\n")
		if err != nil {
			return err
		}
		str.reset(77)
		seen, err := io.ReadAll(str)
		if err != nil {
			return err
		}
		return expect(string(seen), "reset 77")
	},
	"reset_received": func(ctx context.Context, s session) error {
		_, err := command(ctx, s, []byte("reset 78\n"))
		code, ok := streamCode(err)
		if !ok {
			return fmt.Errorf("no reset, but %v", err)
		}
		return expect(code, 78)
	},
	"stop_sent": func(ctx context.Context, s session) error {
		str, err := begin(ctx, s, "stopped\n")
		if err != nil {
			return err
		}
		str.stop(79)
		return uniAnswers(ctx, s, "stop 79")
	},
	"stop_received": func(ctx context.Context, s session) error {
		str, err := s.open(ctx)
		if err != nil {
			return err
		}
		if _, err := str.Write([]byte("stop 80\n")); err != nil {
			return err
		}
		code, err := stopCode(ctx, str)
		if err != nil {
			return err
		}
		return expect(code, 80)
	},
	"uni": func(ctx context.Context, s session) error {
		to, err := s.openUni(ctx)
		if err != nil {
			return err
		}
		if err := send(to, []byte("echo\none way")); err != nil {
			return err
		}
		return uniAnswers(ctx, s, "one way")
	},
	"opened": func(ctx context.Context, s session) error {
		str, err := s.open(ctx)
		if err != nil {
			return err
		}
		if err := send(str, []byte("open\n")); err != nil {
			return err
		}
		theirs, err := s.accept(ctx)
		if err != nil {
			return err
		}
		hello, err := io.ReadAll(theirs)
		if err != nil {
			return err
		}
		if err := expect(string(hello), "hello"); err != nil {
			return err
		}
		if err := send(theirs, []byte("hello back")); err != nil {
			return err
		}
		answer, err := io.ReadAll(str)
		if err != nil {
			return err
		}
		return expect(string(answer), "hello back")
	},
	"datagrams": func(ctx context.Context, s session) error {
		for range 20 {
			if err := s.SendDatagram([]byte("ping")); err != nil {
				return err
			}
			soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			datagram, err := s.ReceiveDatagram(soon)
			cancel()
			if err == nil {
				return expect(string(datagram), "ping")
			}
		}
		return fmt.Errorf("none of 20 datagrams came back")
	},
	"close_received": func(ctx context.Context, s session) error {
		str, err := s.open(ctx)
		if err != nil {
			return err
		}
		if err := send(str, []byte("close 4000000000 tschüß\n")); err != nil {
			return err
		}
		_, err = s.accept(ctx)
		code, reason, ok := closeInfo(err)
		if !ok {
			return fmt.Errorf("no code, but %v", err)
		}
		return expect(fmt.Sprint(code, " ", reason), "4000000000 tschüß")
	},
	"close_sent": func(ctx context.Context, s session) error {
		if _, err := begin(ctx, s, "watchclose\n"); err != nil {
			return err
		}
		s.close(81, "bye")
		return nil
	},
}
