package otlp

import (
	"context"
	"errors"
	"net/http"
	"slices"
)

// MostWaiting bounds a backlog.
const MostWaiting = 100

// Backlog is requests for one signal that wait for the collector, the oldest first. Its zero value is empty.
type Backlog struct{ bodies [][]byte }

// Add puts a request behind the others. It reports whether there is room for all; else the oldest goes.
func (b *Backlog) Add(body []byte) bool {
	b.bodies = append(b.bodies, body)
	if len(b.bodies) > MostWaiting {
		b.bodies = slices.Delete(b.bodies, 0, 1)
		return false
	}
	return true
}

// Send posts what waits, until the collector is unavailable: that request and those behind it stay. What the
// collector refuses for good goes, and the first of these errors is returned.
func (b *Backlog) Send(ctx context.Context, to *Collector, signal string) (failed error) {
	for len(b.bodies) > 0 {
		err := to.Send(ctx, signal, b.bodies[0])
		if failed == nil {
			failed = err
		}
		if Unavailable(err) {
			break
		}
		b.bodies = slices.Delete(b.bodies, 0, 1)
	}
	return failed
}

// unavailable is why a request may succeed later.
type unavailable struct{ error }

func (u unavailable) Unwrap() error { return u.error }

// Unavailable reports whether a request may succeed later: nobody answered, or a status of the
// specification that asks for another try.
// https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes
func Unavailable(err error) bool {
	_, is := errors.AsType[unavailable](err)
	return is
}

func retryable(status int) bool {
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status)
}
