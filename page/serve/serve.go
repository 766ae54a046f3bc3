// Package serve answers HTTP requests about the verdicts of runs: an index, a page
// of each run, the JSON, metrics for Prometheus, and an event whenever they change.
//
// It only reads, and only values: a run is found by its name among those that were
// judged, so that no URL reaches a file system. A request whose Host header is none
// of its own is refused, which is what keeps a page of another site from reading it
// under a name that leads here (DNS rebinding). Names of the input are text
// everywhere.
//
// Memory: a summary of each run, mostKept bytes of pages and JSON that were asked for,
// those asked for last, or one that is longer, and mostListeners open streams of events.
// One page or JSON is made at a time.
package serve

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/report/metrics"
)

const (
	mostKept      = 64 << 20
	mostListeners = 256
	keepAlive     = 20 * time.Second
	writeLimit    = 10 * time.Second // of one event
)

var (
	//go:embed site
	site   embed.FS
	layout = template.Must(template.ParseFS(site, "site/*.html"))
)

// Run is what is kept of one run.
type Run struct {
	Name           string
	Version        uint64 // another whenever it is judged
	Status         answer.Status
	Headline       string
	Why            string              // it says so
	Host           string              // where the answer to it is; "": it names none
	Certainty      evidence.Confidence // of what the answer names
	Gain           float64             // part of it that fixing that saves
	Findings       []diagnose.Finding  // the first, and the others to act on; without evidence
	Stages         []metrics.Stage
	Coverage       []answer.Coverage // what its recording shows
	Windows, Steps int
	Ranks, Hosts   int
	Step           int64     // length, mean, ns; 0: not known
	Line           []float64 // length of a step over the run, ns
	When           time.Time // it was recorded last; zero: not known
}

// Recorded is what was read.
type Recorded struct {
	Runs     []Run // of different names
	Problems []report.Problem
	// Recurring are sentences about hosts and GPUs that delay several runs.
	Recurring []string
	Read, Of  int // inputs, while they are read for the first time; zero afterwards
}

// Maker makes a document of a run, or of all where the name is "". It is called once at a time.
type Maker func(ctx context.Context, run string) ([]byte, error)

// Options of a server.
type Options struct {
	Version     string   // of the program
	Hosts       []string // names under which it may be asked, beside localhost and the address that it listens at
	MetricsRuns int      // runs with metrics of their own
	Page, JSON  Maker
}

// Server is a handler of requests. All its methods may be called at once.
type Server struct {
	o         Options
	mux       *http.ServeMux
	listeners atomic.Int64
	making    chan struct{} // holds one while something is made

	mu      sync.Mutex
	now     *state
	changed chan struct{} // closed with the next change
	kept    kept
}

// New serves nothing yet.
func New(o Options) *Server {
	s := &Server{o: o, mux: http.NewServeMux(), making: make(chan struct{}, 1), changed: make(chan struct{})}
	// A page that was open before the program was started anew takes its first version for another.
	s.now = newState(uint64(time.Now().UnixMilli()), Recorded{})
	for pattern, answer := range map[string]func(*Server, http.ResponseWriter, *http.Request) error{
		"/{$}": (*Server).index, "/run/{name}": (*Server).run, "/page/{name}": (*Server).page,
		"/api": (*Server).api, "/api/run/{name}": (*Server).api, "/metrics": (*Server).metrics, "/events": (*Server).events,
	} {
		s.mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
			var err error
			if panicked := bug.Guard("", func() { err = answer(s, w, r) }); panicked != nil {
				err = panicked
			}
			fail(w, err)
		})
	}
	for _, file := range []string{"live.js", "live.css"} {
		s.mux.HandleFunc("GET /"+file, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, site, "site/"+file) })
	}
	return s
}

// Show serves what was read from now on.
func (s *Server) Show(r Recorded) {
	s.change(func(before *state) *state { return newState(before.version+1, r) })
}

// Fail sets why a path that was named cannot be read now; "": all can.
func (s *Server) Fail(why string) {
	s.change(func(before *state) *state {
		if before.Failure == why {
			return before
		}
		now := *before
		now.version++
		now.Failure = why
		return &now
	})
}

func (s *Server) change(next func(*state) *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := next(s.now)
	if now == s.now {
		return
	}
	s.now = now
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) current() (*state, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.changed
}

// shell is the policy of pages of this package; a page of package page brings its own.
const shell = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", shell)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	switch {
	case !s.admits(r):
		http.Error(w, "this name is not served here: sfstat serve --host NAME admits it", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered", http.StatusMethodNotAllowed)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// admits reports whether a request names this server: localhost, the address at
// which the connection arrived, or a host of the options, at any port, as one may be
// forwarded.
func (s *Server) admits(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || slices.ContainsFunc(s.o.Hosts, func(x string) bool { return strings.EqualFold(x, host) }) {
		return true
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip := net.ParseIP(host)
	return ok && ip != nil && ip.Equal(at.IP)
}

var errNoRun = errors.New("no such run")

// ErrTooMany is the error of a [Maker] for all runs where these are too many for one document.
var ErrTooMany = errors.New("there are too many windows for one answer: ask for /api/run/NAME")

// fail answers with an error. Nothing of the request is repeated in it.
func fail(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errNoRun):
		http.Error(w, "no such run; / lists those there are", http.StatusNotFound)
	case errors.Is(err, ErrTooMany):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	case bug.PanicOf(err) != nil:
		http.Error(w, glyph.Visible(err.Error()), http.StatusInternalServerError)
	default:
		w.Header().Set("Retry-After", "2")
		http.Error(w, "cannot be made now: "+glyph.Visible(err.Error()), http.StatusServiceUnavailable)
	}
}

// document returns a document of the run of a key, or of all where it is "", as it was judged
// last: kept, or new.
func (s *Server) document(ctx context.Context, kind, key string, by Maker) ([]byte, error) {
	select {
	case s.making <- struct{}{}:
		defer func() { <-s.making }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	now := s.now
	name, version := "", now.version
	if key != "" {
		r, err := now.find(key)
		if err != nil {
			s.mu.Unlock()
			return nil, err
		}
		name, version = r.Name, r.Version
	}
	at := kind + "/" + key
	b, ok := s.kept.get(at, version)
	s.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := by(ctx, name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.put(document{at, version, b})
	return b, nil
}

func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	b, err := s.document(r.Context(), "page", r.PathValue("name"), s.o.Page)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "base-uri 'none'; form-action 'none'; connect-src 'none'; frame-ancestors 'self'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b) // to a client that may be gone
	return nil
}

func (s *Server) api(w http.ResponseWriter, r *http.Request) error {
	b, err := s.document(r.Context(), "api", r.PathValue("name"), s.o.JSON)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
	return nil
}

// events sends the version, at once and whenever it is another. That it is repeated
// shows who is gone.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	defer s.listeners.Add(-1)
	if s.listeners.Add(1) > mostListeners {
		return fmt.Errorf("%d streams of events are open, which is the limit", mostListeners)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for c := http.NewResponseController(w); r.Method != http.MethodHead; {
		now, changed := s.current()
		_ = c.SetWriteDeadline(time.Now().Add(writeLimit)) // where the connection has deadlines
		if _, err := fmt.Fprintf(w, "data: %d\n\n", now.version); err != nil || c.Flush() != nil {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-changed:
		case <-time.After(keepAlive):
		}
	}
	return nil
}
