package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/minio/minio-go/v7"
)

// How often and how long, unless the client says otherwise.
const (
	usualTries = 8
	usualWait  = 100 * time.Millisecond
	mostWaits  = 50 // the longest wait, in units of the first
)

// Bounds on how long a store may say nothing.
const (
	connectWithin = 10 * time.Second
	answerWithin  = 30 * time.Second
)

func transport() http.RoundTripper {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial,
		TLSHandshakeTimeout: connectWithin,
		MaxIdleConnsPerHost: AtOnce,
		DisableCompression:  true, // objects are wanted as they are stored
	}
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: connectWithin}).DialContext(ctx, network, address)
	return patient{c}, err
}

// patient is a connection that ends when nothing comes for too long, also in the middle
// of a body.
type patient struct{ net.Conn }

func (c patient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(answerWithin)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// ErrUnavailable: a store did not answer, or answered that it cannot now, however
// often it was asked.
var ErrUnavailable = errors.New("unavailable")

// ErrChanged: an object is not the one that was listed.
var ErrChanged = errors.New("it was replaced since the work began")

// enough is how many bytes a try must bring in order not to count.
const enough = 1 << 20

// try asks once, and says how many bytes that brought, which a further one need not bring
// again.
type try func(ctx context.Context, from *minio.Core, bucket string) (int64, error)

// do tries what is asked of the bucket in a name until it succeeds, fails for good, or was
// tried often enough.
func (c *Client) do(ctx context.Context, name string, ask try) error {
	tries, wait := cmp.Or(c.Tries, usualTries), cmp.Or(c.Wait, usualWait)
	for n := 1; ; n++ {
		came, again, err := c.once(ctx, name, ask)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !again:
			return err
		case came >= enough:
			n = 0
			continue
		case n >= tries:
			return fmt.Errorf("%w, %w after %d tries", err, ErrUnavailable, tries)
		}
		pause := min(mostWaits*wait, wait<<(n-1))
		select {
		case <-time.After(pause/2 + rand.N(pause/2+1)): // so that many do not come back at once
		case <-ctx.Done():
		}
	}
}

// once asks once. The error is as a person reads it; again is whether the next try may
// succeed.
func (c *Client) once(ctx context.Context, name string, ask try) (came int64, again bool, err error) {
	scheme, bucket, _ := cut(name)
	s := c.stores[scheme]
	from, err := s.client(bucket)
	if err != nil {
		return 0, false, err
	}
	came, err = ask(ctx, from, bucket)
	var answer minio.ErrorResponse
	switch {
	case err == nil:
		return came, false, nil
	case errors.As(err, new(*localError)), errors.Is(err, ErrChanged):
		return came, false, err
	case errors.As(err, &answer) && answer.StatusCode == http.StatusPreconditionFailed:
		return came, false, ErrChanged
	case errors.As(err, &answer) && answer.StatusCode != 0:
		return came, s.moved(bucket, answer.Region) || retryable(answer.StatusCode), s.refusal(&answer)
	}
	return came, true, plain(err)
}

// retryable reports whether an answer may be another the next time.
func retryable(status int) bool {
	return status >= 500 && status != http.StatusNotImplemented || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// refusal is what a store answers, in one line.
func (s *store) refusal(a *minio.ErrorResponse) error {
	text := fmt.Sprintf("the store answers %d", a.StatusCode)
	if a.Code != "" {
		text += " " + a.Code
	}
	if a.Message != "" {
		text += ": " + a.Message
	}
	if a.StatusCode == http.StatusForbidden || a.StatusCode == http.StatusUnauthorized {
		if v, err := s.keys.GetWithContext(nil); err != nil || v.SignerType.IsAnonymous() {
			text += " (no credentials were found)"
		}
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	const most = 300
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return errors.New(text)
}

// plain is an error of HTTP without the request, which the caller names.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("the store said nothing for %v", answerWithin)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || strings.HasPrefix(err.Error(), "Connection closed by foreign host") {
		return errors.New("the connection was cut")
	}
	return err
}
