// Package otlp posts what was encoded to a collector of OpenTelemetry, by OTLP over HTTP. The
// variables of the environment are those of its specification: OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sfstat/sfstat/internal/glyph"
)

// Collector is where to post.
type Collector struct {
	// Resource has the attributes of who sends.
	Resource [][2]string

	base    *url.URL
	headers [][2]string
	client  http.Client
}

// limit is how long a request may take, mostAnswer how much of an answer is read.
const (
	limit      = 10 * time.Second
	mostAnswer = 64 << 10
)

// New returns the collector at a base address, such as http://localhost:4318. It is not asked yet.
func New(base string, getenv func(string) string) (*Collector, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("is no address of a collector, such as http://localhost:4318")
	}
	// A collector that sends elsewhere would send the headers there.
	c := &Collector{base: u, client: http.Client{Timeout: limit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if c.headers, err = pairs(getenv, "OTEL_EXPORTER_OTLP_HEADERS"); err != nil {
		return nil, err
	}
	named, err := pairs(getenv, "OTEL_RESOURCE_ATTRIBUTES")
	if err != nil {
		return nil, err
	}
	name := getenv("OTEL_SERVICE_NAME")
	for _, p := range named {
		if p[0] != "service.name" {
			c.Resource = append(c.Resource, p)
		} else if name == "" {
			name = p[1]
		}
	}
	if name == "" {
		name = "sfstat"
	}
	c.Resource = append(c.Resource, [2]string{"service.name", name})
	return c, nil
}

// pairs reads key=value,key=value, values percent-encoded. They may be secrets: no error repeats one.
func pairs(getenv func(string) string, variable string) (out [][2]string, err error) {
	for part := range strings.SplitSeq(getenv(variable), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			return nil, fmt.Errorf("%s: entry %d is not key=value with a percent-encoded value", variable, len(out)+1)
		}
		out = append(out, [2]string{key, text})
	}
	return out, nil
}

// Send posts a body to v1/metrics or v1/logs.
func (c *Collector) Send(ctx context.Context, signal string, body []byte) error {
	at := c.base.JoinPath("v1", signal)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	for _, h := range c.headers {
		request.Header.Set(h[0], h[1])
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return unavailable{err} // it names the address, without a password
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return unavailable{fmt.Errorf("%s: %w", at.Redacted(), err)}
	}
	switch status := answer.StatusCode; {
	case retryable(status):
		return unavailable{fmt.Errorf("%s answers %s: %s", at.Redacted(), answer.Status, short(string(said)))}
	case status/100 != 2:
		return fmt.Errorf("%s answers %s, expected 200: is it a collector's address for OTLP over HTTP, which often has port 4318? %s", at.Redacted(), answer.Status, short(string(said)))
	}
	var partly struct {
		PartialSuccess struct {
			Points  json.Number `json:"rejectedDataPoints"`
			Records json.Number `json:"rejectedLogRecords"`
			Message string      `json:"errorMessage"`
		}
	}
	if json.Unmarshal(said, &partly) != nil { // an answer that says nothing more
		return nil
	}
	if p := partly.PartialSuccess; isNonZero(p.Points) || isNonZero(p.Records) {
		return fmt.Errorf("%s rejects a part: %s", at.Redacted(), short(p.Message))
	}
	return nil
}

// isNonZero reports whether a count is given and not 0.
func isNonZero(n json.Number) bool { return n != "" && n != "0" }

// short returns the words of another program on one line.
func short(said string) string {
	const most = 200
	return glyph.Visible(said[:min(len(said), most)])
}
