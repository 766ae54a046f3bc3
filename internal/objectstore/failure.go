package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
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
	return patientConn{c}, err
}

// patientConn is a connection that ends when nothing comes for too long, also in the middle
// of a body.
type patientConn struct{ net.Conn }

func (c patientConn) Read(p []byte) (int, error) {
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

// failure returns an error as a person reads it, in one line.
func (s *store) failure(ctx context.Context, err error) error {
	var answer minio.ErrorResponse
	switch {
	case err == nil, errors.Is(err, ErrChanged):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &answer) && answer.StatusCode == http.StatusPreconditionFailed:
		return ErrChanged
	case errors.As(err, &answer) && answer.StatusCode != 0:
		text := fmt.Sprintf("the store answers %d %s: %.300s", answer.StatusCode, answer.Code, answer.Message)
		if v, err := s.keys.GetWithContext(nil); (err != nil || v.SignerType.IsAnonymous()) && (answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized) {
			text += " (no credentials were found)"
		}
		err = errors.New(strings.Join(strings.Fields(text), " "))
		if answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusRequestTimeout {
			return err
		}
	case wasCut(err):
		err = errors.New("the connection was cut")
	default:
		var u *url.Error
		if !errors.As(err, &u) {
			return err
		}
		err = u.Err
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			err = fmt.Errorf("the store said nothing for %v", answerWithin)
		}
	}
	return fmt.Errorf("%w, %w after %d tries", err, ErrUnavailable, tries)
}

// wasCut reports whether a store ended a connection before all had come.
func wasCut(err error) bool {
	return errors.Is(err, io.EOF) || strings.Contains(err.Error(), "unexpected EOF") || strings.HasPrefix(err.Error(), "Connection closed by foreign host")
}
