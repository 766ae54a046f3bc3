package objectstore

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// How often and how long, unless the client says otherwise.
const (
	usualTries = 8
	usualWait  = 100 * time.Millisecond
	mostWaits  = 50 // the longest wait, in units of the first
)

// ErrUnavailable: a store did not answer, or answered that it cannot now, however
// often it was asked.
var ErrUnavailable = errors.New("unavailable")

// ErrChanged: an object is not the one that was listed.
var ErrChanged = errors.New("it was replaced since the work began")

// answer is what a store says when it refuses.
type answer struct {
	status     int
	Code       string
	Message    string
	Region     string
	unsigned   bool // there were no credentials
	otherwhere bool // the bucket is in another region, which is known now
}

func (a *answer) Error() string {
	text := fmt.Sprintf("the store answers %d", a.status)
	if a.Code != "" {
		text += " " + a.Code
	}
	if a.Message != "" {
		text += ": " + a.Message
	}
	if a.unsigned && (a.status == http.StatusForbidden || a.status == http.StatusUnauthorized) {
		text += " (no credentials were found)"
	}
	return oneLine(text)
}

// again reports whether the next try may succeed.
func (a *answer) again() bool {
	return a.status >= 500 && a.status != http.StatusNotImplemented || a.status == http.StatusTooManyRequests ||
		a.status == http.StatusRequestTimeout || a.otherwhere
}

// oneLine keeps what a store says from leaving its line.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	const most = 300
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// request is one GET.
type request struct {
	name   string // of the object or bucket
	query  url.Values
	header http.Header
	take   func(*http.Response) error // what is done with the answer, each time it is tried
}

// enough is how much a try must bring in order not to count.
const enough = 1 << 20

// do tries a request until it succeeds, fails for good, or was tried often enough.
// got is how many bytes have come so far, which a further try need not bring again.
func (c *Client) do(ctx context.Context, r *request, got func() int64) error {
	tries, wait := c.Tries, c.Wait
	if tries == 0 {
		tries = usualTries
	}
	if wait == 0 {
		wait = usualWait
	}
	longest := mostWaits * wait
	for n := 1; ; n++ {
		before := got()
		err := c.once(ctx, r)
		var a *answer
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &a) && !a.again(), errors.As(err, new(*localError)), errors.As(err, new(*settingError)), errors.Is(err, ErrChanged):
			return err
		case got()-before >= enough:
			n = 0
			continue
		case n >= tries:
			return fmt.Errorf("%w, %w after %d tries", plain(err), ErrUnavailable, tries)
		}
		pause := min(longest, wait<<(n-1))
		select {
		case <-time.After(pause/2 + rand.N(pause/2+1)): // so that many do not come back at once
		case <-ctx.Done():
		}
	}
}

// plain is an error of HTTP without the request, which the caller names.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the connection was cut")
	}
	return err
}

// localError is one of this machine, which no further try changes.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

// once tries a request. A store that stops in the middle of a body is left.
func (c *Client) once(ctx context.Context, r *request) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	scheme, bucket, key := cut(r.name)
	s := c.stores[scheme]
	req, signed, err := s.request(ctx, bucket, key, r)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusPreconditionFailed {
		return ErrChanged
	}
	if resp.StatusCode/100 != 2 {
		a := &answer{status: resp.StatusCode, unsigned: !signed}
		_ = xml.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(a) // some say nothing
		a.otherwhere = s.moved(bucket, cmp.Or(resp.Header.Get("X-Amz-Bucket-Region"), a.Region))
		return a
	}
	silent := time.AfterFunc(answerWithin, func() { stop(errSilent) })
	defer silent.Stop()
	resp.Body = watched{resp.Body, silent}
	if err := r.take(resp); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

var errSilent = fmt.Errorf("the store said nothing for %v", answerWithin)

// watched puts the end of patience off with every read that brings something.
type watched struct {
	io.ReadCloser
	end *time.Timer
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.end.Reset(answerWithin)
	}
	return n, err
}

// hashOfNothing is SHA-256 of the body of a GET.
const hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// request makes a GET, signed where there are credentials.
func (s *store) request(ctx context.Context, bucket, key string, r *request) (_ *http.Request, signed bool, err error) {
	u, err := s.address(bucket)
	if err != nil {
		return nil, false, err
	}
	u.Path += "/" + key
	u.RawPath = s3utils.EncodePath(u.Path) // as it is signed
	u.RawQuery = s3utils.QueryEncode(r.query)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, false, &localError{err}
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept-Encoding", "gzip, identity") // or Google unpacks what is stored as gzip
	req.Header.Set("X-Amz-Content-Sha256", hashOfNothing)
	keys, ok := s.credentials(ctx)
	if !ok {
		return req, false, nil
	}
	return signer.SignV4(*req, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, s.regionOf(bucket)), true, nil
}
