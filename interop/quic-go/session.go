package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"
)

// A stream of either kind. Codes are the application's.
type stream interface {
	io.Reader
	io.Writer
	Close() error
	Context() context.Context
	reset(code uint32)
	stop(code uint32)
}

// A session of raw QUIC or of WebTransport.
type session interface {
	open(ctx context.Context) (stream, error)
	openUni(ctx context.Context) (io.WriteCloser, error)
	accept(ctx context.Context) (stream, error)
	acceptUni(ctx context.Context) (io.Reader, error)
	SendDatagram([]byte) error
	ReceiveDatagram(context.Context) ([]byte, error)
	Context() context.Context
	close(code uint32, reason string)
}

type quicStream struct{ *quic.Stream }

func (s quicStream) reset(code uint32) { s.CancelWrite(quic.StreamErrorCode(code)) }
func (s quicStream) stop(code uint32)  { s.CancelRead(quic.StreamErrorCode(code)) }

type quicSession struct{ *quic.Conn }

func (s quicSession) open(ctx context.Context) (stream, error) {
	opened, err := s.OpenStreamSync(ctx)
	return quicStream{opened}, err
}
func (s quicSession) openUni(ctx context.Context) (io.WriteCloser, error) {
	return s.OpenUniStreamSync(ctx)
}
func (s quicSession) accept(ctx context.Context) (stream, error) {
	accepted, err := s.AcceptStream(ctx)
	return quicStream{accepted}, err
}
func (s quicSession) acceptUni(ctx context.Context) (io.Reader, error) { return s.AcceptUniStream(ctx) }
func (s quicSession) close(code uint32, reason string) {
	s.CloseWithError(quic.ApplicationErrorCode(code), reason)
}

// Limits of a session, low enough for the scenarios to come to them.
var limits = &webtransport.Config{MaxIncomingStreams: 50, MaxIncomingUniStreams: 50, MaxIncomingData: 1 << 20}

type webStream struct{ *webtransport.Stream }

func (s webStream) reset(code uint32) { s.CancelWrite(webtransport.StreamErrorCode(code)) }
func (s webStream) stop(code uint32)  { s.CancelRead(webtransport.StreamErrorCode(code)) }

type webSession struct{ *webtransport.Session }

func (s webSession) open(ctx context.Context) (stream, error) {
	opened, err := s.OpenStreamSync(ctx)
	return webStream{opened}, err
}
func (s webSession) openUni(ctx context.Context) (io.WriteCloser, error) {
	return s.OpenUniStreamSync(ctx)
}
func (s webSession) accept(ctx context.Context) (stream, error) {
	accepted, err := s.AcceptStream(ctx)
	return webStream{accepted}, err
}
func (s webSession) acceptUni(ctx context.Context) (io.Reader, error) { return s.AcceptUniStream(ctx) }
func (s webSession) close(code uint32, reason string) {
	s.CloseWithError(webtransport.SessionErrorCode(code), reason)
}

// The application's code of a stream that the other side reset or stopped.
func streamCode(err error) (uint32, bool) {
	var raw *quic.StreamError
	if errors.As(err, &raw) {
		return uint32(raw.ErrorCode), true
	}
	var web *webtransport.StreamError
	if errors.As(err, &web) {
		return uint32(web.ErrorCode), true
	}
	return 0, false
}

// Waits until the other side stops reading. The cause of the stream's context has the code on the wire; that of a write
// is the application's.
func stopCode(ctx context.Context, s stream) (uint32, error) {
	select {
	case <-s.Context().Done():
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	_, err := s.Write([]byte("x"))
	code, ok := streamCode(err)
	if !ok {
		return 0, fmt.Errorf("no stop, but %v", err)
	}
	return code, nil
}

// Code and reason with which the other side closed the session.
func closeInfo(err error) (uint32, string, bool) {
	var raw *quic.ApplicationError
	if errors.As(err, &raw) {
		return uint32(raw.ErrorCode), raw.ErrorMessage, true
	}
	var web *webtransport.SessionError
	if errors.As(err, &web) {
		return uint32(web.ErrorCode), web.Message, true
	}
	return 0, "", false
}
