package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// Kind says how a fetch failed.
type Kind uint8

// The kinds.
const (
	Refused    Kind = iota + 1 // the connection was refused or reset
	Timeout                    // no answer within the deadline
	Name                       // its name does not resolve
	Redirected                 // it sends to another host, or in circles
	TooLarge                   // its answer is over the body cap
	Denied                     // its address may not be dialed
	Protocol                   // anything else: TLS, no HTTP, cut off
	Canceled                   // we gave up ourselves
)

// Error is a failed fetch. Its text names no more than the server and is
// bounded: what a server writes is not repeated at length.
type Error struct {
	Kind Kind
	Text string
	Err  error // the cause, may be nil
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// maxText bounds what is repeated of an error or a server's words.
const maxText = 160

func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// classify turns an error of the HTTP client into an [*Error].
func classify(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Canceled, "the question was given up", err}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Error{Refused, "connection refused", err}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &Error{Refused, "connection reset", err}
	case errors.As(err, &dns) && !dns.IsTimeout:
		return &Error{Name, "its name " + clip(dns.Name) + " does not resolve", err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Timeout, "no answer in time", err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Protocol, "it closed the connection without an answer", err}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return &Error{Timeout, "no route to it", err}
	default:
		return &Error{Protocol, clip(innermost(err).Error()), err}
	}
}

func classifyBody(err error) *Error {
	e := classify(err)
	if e.Kind == Protocol {
		e.Text = "its answer cannot be read: " + clip(innermost(err).Error())
	}
	return e
}

// innermost drops the layers that repeat method and URL.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// KindOf returns the kind of an error from [Client.Get].
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Protocol
}
