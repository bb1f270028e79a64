package main

import (
	"context"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"quicrpc.internal/bench/benchv1"
)

const unlimited = 1 << 30

type server struct {
	benchv1.UnimplementedBenchServer
}

func (server) Multiply(_ context.Context, in *benchv1.Factors) (*benchv1.Product, error) {
	return &benchv1.Product{Pro: in.A * in.B}, nil
}

func (server) Empty(context.Context, *benchv1.Nothing) (*benchv1.Nothing, error) {
	return &benchv1.Nothing{}, nil
}

func (server) Echo(_ context.Context, in *benchv1.Data) (*benchv1.Data, error) {
	return in, nil
}

func (server) Wait(_ context.Context, in *benchv1.Pause) (*benchv1.Nothing, error) {
	time.Sleep(time.Duration(in.Ms) * time.Millisecond)
	return &benchv1.Nothing{}, nil
}

func (server) Items(in *benchv1.Count, out grpc.ServerStreamingServer[benchv1.Item]) error {
	for i := range in.Count {
		if err := out.Send(&benchv1.Item{I: i}); err != nil {
			return err
		}
	}
	return nil
}

func (server) Upload(in grpc.ClientStreamingServer[benchv1.Data, benchv1.Total]) error {
	bytes := 0
	for {
		chunk, err := in.Recv()
		if err == io.EOF {
			return in.SendAndClose(&benchv1.Total{Bytes: float64(bytes)})
		}
		if err != nil {
			return err
		}
		bytes += len(chunk.Data)
	}
}

// serve returns the port.
func serve(host, cert, key string) (int, error) {
	tls, err := credentials.NewServerTLSFromFile(cert, key)
	if err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		return 0, err
	}
	of := grpc.NewServer(grpc.Creds(tls), grpc.MaxRecvMsgSize(unlimited), grpc.MaxSendMsgSize(unlimited))
	benchv1.RegisterBenchServer(of, server{})
	go of.Serve(listener)
	return listener.Addr().(*net.TCPAddr).Port, nil
}
