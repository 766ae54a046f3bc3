package batch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/internal/objectstore"
)

// realStore is the URL of a store that these tests use in place of the one in this
// process, with the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. It has an
// empty bucket for each test, named like bucketOf.
const realStore = "SFSTAT_TEST_S3"

// store is one that can be reached through faults alone. It checks signatures.
type store struct {
	*httptest.Server
	key, secret string
	bucket      string

	mu    sync.Mutex
	tries map[string]int // by path and query
	fault func(r *http.Request, try int) fault
}

// fault is what becomes of a request.
type fault uint8

const (
	none fault = iota
	unavailable
	cutShort
)

// emptyDelimiter is a backend that takes an empty delimiter for none, as stores do.
type emptyDelimiter struct{ gofakes3.Backend }

func (b emptyDelimiter) ListBucket(ctx context.Context, name string, prefix *gofakes3.Prefix, page gofakes3.ListBucketPage) (*gofakes3.ObjectList, error) {
	prefix.HasDelimiter = prefix.Delimiter != ""
	return b.Backend.ListBucket(ctx, name, prefix, page)
}

// filled is a store that has the files of a folder, below runs/.
func filled(t *testing.T, dir string) *store {
	t.Helper()
	s := &store{key: "AKIATEST", secret: "secret/with+signs", tries: make(map[string]int), bucket: "archive-" + strings.ToLower(t.Name())}
	address := os.Getenv(realStore)
	if address == "" {
		fake := gofakes3.New(emptyDelimiter{s3mem.New()}, gofakes3.WithV4Auth(map[string]string{s.key: s.secret}), gofakes3.WithAutoBucket(true))
		server := httptest.NewServer(fake.Server())
		t.Cleanup(server.Close)
		address = server.URL
	} else {
		s.key, s.secret = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	}
	to, err := url.Parse(address)
	must(t, err)
	// The name that was asked for is signed, and stays.
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch s.becomes(r) {
		case unavailable:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("<Error><Code>SlowDown</Code><Message>Reduce your\nrequest rate.</Message></Error>"))
		case cutShort:
			proxy.ServeHTTP(half{w}, r)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	s.put(t, "", nil) // the bucket
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			key, _ := filepath.Rel(dir, path)
			s.put(t, "/runs/"+filepath.ToSlash(key), read(t, path))
		}
		return err
	}))
	return s
}

// becomes is the fate of a request, by how often it came.
func (s *store) becomes(r *http.Request) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil || r.Method != http.MethodGet {
		return none
	}
	key := r.URL.String()
	s.tries[key]++
	return s.fault(r, s.tries[key])
}

func (s *store) have(fault func(*http.Request, int) fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.tries = fault, make(map[string]int)
}

// half sends half of a body and cuts the connection.
type half struct{ http.ResponseWriter }

func (h half) Write(p []byte) (int, error) {
	_, _ = h.ResponseWriter.Write(p[:len(p)/2])
	_ = http.NewResponseController(h.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// put stores an object, or makes the bucket.
func (s *store) put(t *testing.T, key string, content []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPut, s.URL, bytes.NewReader(content))
	must(t, err)
	req.URL.Path = "/" + s.bucket + key
	req.URL.RawPath = s3utils.EncodePath(req.URL.Path)
	sum := sha256.Sum256(content)
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	resp, err := http.DefaultClient.Do(signer.SignV4(*req, s.key, s.secret, "", "us-east-1"))
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var text bytes.Buffer
		_, _ = text.ReadFrom(resp.Body)
		t.Fatalf("PUT %s: %s %s", key, resp.Status, text.String())
	}
}

// client is one that reaches this store, by both schemes, and does not wait long.
func (s *store) client() *objectstore.Client {
	return objectstore.New(func(name string) string {
		return map[string]string{
			"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": s.key, "AWS_SECRET_ACCESS_KEY": s.secret,
			"GS_ENDPOINT_URL": s.URL, "GS_ACCESS_KEY_ID": s.key, "GS_SECRET_ACCESS_KEY": s.secret,
		}[name]
	})
}

// Retries do not wait in tests.
func init() { minio.DefaultRetryUnit, minio.DefaultRetryCap = time.Millisecond, time.Millisecond }

// judged are the rows of what is below a name, and what was refused.
func (s *store) judged(t *testing.T, scheme string, threads int) ([]byte, []findings.Refused) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.csv")
	sum, err := Run(t.Context(), []string{scheme + "://" + s.bucket + "/runs"},
		Options{Output: Output{Path: out, Format: flatrow.CSV}, Objects: s.client(), Threads: threads})
	must(t, err)
	if left, _ := filepath.Glob(out + "*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	return read(t, out), sum.Refused
}

// expected are the rows of the same files in a folder, under the names of objects.
func (s *store) expected(t *testing.T, dir, scheme string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.csv")
	run(t, dir, Options{Output: Output{Path: out}})
	return bytes.ReplaceAll(read(t, out), []byte(filepath.ToSlash(dir)), []byte(scheme+"://"+s.bucket+"/runs"))
}

// odd adds files whose names need care in URLs, and such as are skipped.
func odd(t *testing.T, dir string) string {
	t.Helper()
	record(t, filepath.Join(dir, "a b+c%25 ä", "job=1&x?.jsonl"), job("odd", 77, 3))
	must(t, os.WriteFile(filepath.Join(dir, ".hidden"), []byte("x"), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "empty.jsonl"), nil, 0o666))
	return dir
}

// TestObjects: a prefix has the rows of a folder with the same files, whatever the
// number of threads, and however often the store refuses and cuts connections.
func TestObjects(t *testing.T) {
	dir := odd(t, fleet(t, 9))
	s := filled(t, dir)
	for _, c := range []struct {
		name, scheme string
		threads      int
		fault        func(*http.Request, int) fault
	}{
		{"S3", "s3", 1, nil},
		{"Google", "gs", 3, nil},
		{"unavailable twice", "s3", 2, func(_ *http.Request, try int) fault {
			if try <= 2 {
				return unavailable
			}
			return none
		}},
		{"cut twice", "s3", 2, func(_ *http.Request, try int) fault {
			if try <= 2 {
				return cutShort
			}
			return none
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.have(c.fault)
			got, refused := s.judged(t, c.scheme, c.threads)
			if len(refused) != 1 || !strings.HasSuffix(refused[0].Path, "runs/empty.jsonl") {
				t.Errorf("refused: %v", refused)
			}
			if diff := cmp.Diff(string(s.expected(t, dir, c.scheme)), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestObjectRefused: an object that cannot be had is one line with its name, and the
// others are judged.
func TestObjectRefused(t *testing.T) {
	dir := fleet(t, 4)
	const bad = "day-0/job-01.parquet"
	s := filled(t, dir)
	must(t, os.Remove(filepath.Join(dir, filepath.FromSlash(bad))))
	want := s.expected(t, dir, "s3")
	isBad := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, bad) }
	for _, c := range []struct {
		name  string
		fault func(*http.Request, int) fault
		says  string
	}{
		{"unavailable", func(r *http.Request, _ int) fault {
			if isBad(r) {
				return unavailable
			}
			return none
		}, "the store answers 503 SlowDown: Reduce your request rate., unavailable after 8 tries"},
		{"replaced", func(r *http.Request, try int) fault {
			if isBad(r) && try == 1 {
				s.mu.Unlock()
				s.put(t, "/runs/"+bad, []byte("another"))
				s.mu.Lock()
			}
			return none
		}, objectstore.ErrChanged.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.have(c.fault)
			got, refused := s.judged(t, "s3", 2)
			if diff := cmp.Diff([]findings.Refused{{Path: "s3://" + s.bucket + "/runs/" + bad, Error: c.says}}, refused); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStoreDown: where a store answers nothing more, the batch ends, names an object, and
// goes on to the same bytes.
func TestStoreDown(t *testing.T) {
	dir := fleet(t, 9)
	s := filled(t, dir)
	out := filepath.Join(t.TempDir(), "a.csv")
	o := Options{Output: Output{Path: out, Format: flatrow.CSV}, Objects: s.client(), Threads: 1, Resume: GoOn}
	served := 0
	s.have(func(*http.Request, int) fault {
		if served++; served > 6 {
			return unavailable
		}
		return none
	})
	names := []string{"s3://" + s.bucket + "/runs"}
	_, err := Run(t.Context(), names, o)
	if !errors.Is(err, objectstore.ErrUnavailable) || !strings.HasPrefix(err.Error(), names[0]+"/") {
		t.Fatalf("the error is %v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is an output: %v", err)
	}
	parts, _ := filepath.Glob(filepath.Join(out+partsSuffix, "*.part"))
	copies, _ := filepath.Glob(filepath.Join(out+partsSuffix, objectsPrefix+"*"))
	if len(parts) == 0 || len(copies) != 0 {
		t.Errorf("there are the parts %v and the copies %v", parts, copies)
	}
	s.have(nil)
	_, err = Run(t.Context(), names, o)
	must(t, err)
	if diff := cmp.Diff(string(s.expected(t, dir, "s3")), string(read(t, out))); diff != "" {
		t.Error(diff)
	}
}

// TestNames: objects that can be no files are refused by name.
func TestNames(t *testing.T) {
	s := filled(t, odd(t, t.TempDir()))
	bad := []string{"../up", "a", "a//b", strings.Repeat("n", 300)}
	for _, name := range append(bad, "a/c") {
		s.put(t, "/runs/"+name, []byte("x"))
	}
	_, refused := s.judged(t, "s3", 2)
	got := make(map[string]string)
	for _, r := range refused {
		got[strings.TrimPrefix(r.Path, "s3://"+s.bucket+"/runs/")] = r.Error
	}
	for _, name := range bad {
		if !strings.HasPrefix(got[name], "no file can have this name") {
			t.Errorf("%.20s: %q", name, got[name])
		}
	}
}

// TestStoreRefuses: what is wrong with a name, the keys or the settings is one line.
func TestStoreRefuses(t *testing.T) {
	s := filled(t, t.TempDir())
	s.put(t, "/x/a", nil)
	right := s.client()
	s.secret += "?"
	for _, c := range []struct {
		name, path string
		client     *objectstore.Client
		says       string
	}{
		{"nothing there", "s3://" + s.bucket + "/nowhere", right, "there is no such object, and none below it"},
		{"nothing in it", "s3://" + s.bucket + "/x/", right, ""},
		{"no bucket", "s3://", right, "there is no bucket in it"},
		{"wrong keys", "s3://" + s.bucket, s.client(), "the store answers 403 SignatureDoesNotMatch"},
		{"no client", "s3://" + s.bucket, nil, "objects cannot be read here"},
		{"no URL", "s3://" + s.bucket, objectstore.New(func(string) string { return "localhost" }), "the endpoint is localhost, expected a URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Run(t.Context(), []string{c.path}, Options{Objects: c.client})
			if err == nil || strings.Contains(err.Error(), "\n") || c.says != "" && (!strings.HasPrefix(err.Error(), c.path+": ") || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
