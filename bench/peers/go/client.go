package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"quicrpc.internal/bench/benchv1"
)

type task struct {
	Do       string
	InFlight int
	Ms       int32
	Bytes    int
	Chunk    int
	Resume   bool
	EveryMs  int
}

type latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

type outcome struct {
	Seconds float64  `json:"seconds"`
	Errors  int      `json:"errors"`
	Latency *latency `json:"latency"`
}

type connection struct {
	benchv1.BenchClient
	io.Closer
}

type client struct {
	target  string
	options []grpc.DialOption
	open    []connection
}

var background = context.Background()

func newClient(target, cert string) (*client, error) {
	tls, err := credentials.NewClientTLSFromFile(cert, "localhost")
	if err != nil {
		return nil, err
	}
	sizes := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(unlimited), grpc.MaxCallSendMsgSize(unlimited))
	return &client{target: target, options: []grpc.DialOption{grpc.WithTransportCredentials(tls), sizes}}, nil
}

func (c *client) can(wanted *task) bool {
	return wanted.Do != "notify" && wanted.Do != "pipe" && wanted.Do != "message" && !wanted.Resume
}

func (c *client) prepare(wanted *task, connections int) error {
	for wanted.Do != "connect" && wanted.Do != "idle" && len(c.open) < connections {
		one, err := c.connect()
		if err != nil {
			return err
		}
		c.open = append(c.open, one)
	}
	return nil
}

// connect makes a connection of its own, and waits for the reply to its first call.
func (c *client) connect() (connection, error) {
	conn, err := grpc.NewClient(c.target, c.options...)
	if err != nil {
		return connection{}, err
	}
	one := connection{benchv1.NewBenchClient(conn), conn}
	_, err = one.Empty(background, &benchv1.Nothing{})
	return one, err
}

func (c *client) run(wanted *task, amount int) (outcome, error) {
	switch wanted.Do {
	case "multiply":
		return c.calls(wanted, amount, func(on connection, index int) error {
			return on.multiply(index)
		}), nil
	case "empty":
		return c.calls(wanted, amount, func(on connection, _ int) error {
			_, err := on.Empty(background, &benchv1.Nothing{})
			return err
		}), nil
	case "wait":
		return c.calls(wanted, amount, func(on connection, _ int) error {
			_, err := on.Wait(background, &benchv1.Pause{Ms: wanted.Ms})
			return err
		}), nil
	case "echo":
		data := bytes.Repeat([]byte{7}, wanted.Bytes)
		return c.calls(wanted, amount, func(on connection, _ int) error {
			out, err := on.Echo(background, &benchv1.Data{Data: data})
			return expect(err, func() bool { return len(out.Data) == len(data) && out.Data[len(data)-1] == 7 })
		}), nil
	case "items":
		return timed(func() error { return c.items(amount) })
	case "upload":
		return timed(func() error { return c.upload(make([]byte, wanted.Chunk), amount) })
	case "paced":
		return c.paced(wanted.EveryMs, func(begun int) bool { return begun < amount }), nil
	case "beside":
		return c.beside(wanted, amount)
	case "connect":
		return c.connects(amount)
	case "idle":
		return timed(func() error { return c.prepare(&task{}, len(c.open)+amount) })
	}
	return outcome{}, fmt.Errorf("no such task: %s", wanted.Do)
}

func (c *client) calls(wanted *task, amount int, call func(on connection, index int) error) outcome {
	var left, failed atomic.Int64
	left.Store(int64(amount))
	took := make([][]float64, 0, len(c.open)*wanted.InFlight)
	var workers sync.WaitGroup
	started := time.Now()
	for _, on := range c.open {
		for range wanted.InFlight {
			took = append(took, nil)
			at := len(took) - 1
			workers.Go(func() {
				var mine []float64
				for index := left.Add(-1); index >= 0; index = left.Add(-1) {
					began := time.Now()
					if err := call(on, int(index)); err != nil && failed.Add(1) == 1 {
						log.Print(err)
					}
					mine = append(mine, time.Since(began).Seconds()*1000)
				}
				took[at] = mine
			})
		}
	}
	workers.Wait()
	return outcome{time.Since(started).Seconds(), int(failed.Load()), quantiles(slices.Concat(took...))}
}

func (on connection) multiply(index int) error {
	a := int32(index & 0xff)
	out, err := on.Multiply(background, &benchv1.Factors{A: a, B: 3})
	return expect(err, func() bool { return out.Pro == a*3 })
}

// paced makes a call every so many ms, whether or not those before are answered.
func (c *client) paced(everyMs int, more func(begun int) bool) outcome {
	var calls sync.WaitGroup
	var lock sync.Mutex
	var took []float64
	failed := 0
	ticks := time.NewTicker(time.Duration(everyMs) * time.Millisecond)
	defer ticks.Stop()
	started := time.Now()
	for begun := 0; more(begun); begun++ {
		calls.Go(func() {
			began := time.Now()
			err := c.open[0].multiply(begun)
			lock.Lock()
			defer lock.Unlock()
			took = append(took, time.Since(began).Seconds()*1000)
			if err != nil {
				failed++
			}
		})
		<-ticks.C
	}
	calls.Wait()
	return outcome{time.Since(started).Seconds(), failed, quantiles(took)}
}

// beside makes such calls while an upload runs, whose time it is.
func (c *client) beside(wanted *task, megabytes int) (outcome, error) {
	var moved outcome
	var err error
	var over atomic.Bool
	var transfer sync.WaitGroup
	transfer.Go(func() {
		moved, err = timed(func() error { return c.upload(make([]byte, wanted.Chunk), megabytes) })
		over.Store(true)
	})
	done := c.paced(wanted.EveryMs, func(int) bool { return !over.Load() })
	transfer.Wait()
	done.Seconds = moved.Seconds
	return done, err
}

func (c *client) items(amount int) error {
	in, err := c.open[0].Items(background, &benchv1.Count{Count: int32(amount)})
	if err != nil {
		return err
	}
	received := 0
	for ; ; received++ {
		if _, err = in.Recv(); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		return expect(nil, func() bool { return received == amount })
	}
	return err
}

func (c *client) upload(chunk []byte, megabytes int) error {
	out, err := c.open[0].Upload(background)
	if err != nil {
		return err
	}
	count := (megabytes*1_000_000 + len(chunk) - 1) / len(chunk)
	for range count {
		if err := out.Send(&benchv1.Data{Data: chunk}); err != nil {
			return err
		}
	}
	total, err := out.CloseAndRecv()
	return expect(err, func() bool { return int(total.Bytes) == count*len(chunk) })
}

// connects counts the time until the first reply, without the time that closing takes.
func (c *client) connects(amount int) (outcome, error) {
	var took []float64
	seconds := 0.0
	for range amount {
		began := time.Now()
		one, err := c.connect()
		if err != nil {
			return outcome{}, err
		}
		took = append(took, time.Since(began).Seconds()*1000)
		seconds += time.Since(began).Seconds()
		one.Close()
	}
	return outcome{seconds, 0, quantiles(took)}, nil
}

func expect(err error, holds func() bool) error {
	if err == nil && !holds() {
		return errors.New("a wrong answer")
	}
	return err
}

func timed(do func() error) (outcome, error) {
	started := time.Now()
	err := do()
	return outcome{Seconds: time.Since(started).Seconds()}, err
}

func quantiles(took []float64) *latency {
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	at := func(share float64) float64 { return took[min(len(took)-1, int(float64(len(took))*share))] }
	return &latency{at(0.5), at(0.95), at(0.99)}
}
