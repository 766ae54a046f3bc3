package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"
)

// Retries do not wait in tests.
func init() { minio.DefaultRetryUnit, minio.DefaultRetryCap = time.Millisecond, time.Millisecond }

// clientOf is one for a store that answers so, with further settings.
func clientOf(t *testing.T, answers http.HandlerFunc, settings map[string]string) *Client {
	t.Helper()
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 03:04:05 GMT")
		answers(w, r)
	}))
	t.Cleanup(s.Close)
	c := New(func(name string) string {
		if name == "AWS_ENDPOINT_URL" {
			return s.URL
		}
		return settings[name]
	})
	return c
}

var keys = map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-1"}

// TestPages: a listing of several pages is one, in their order, with the names as they
// are stored, and without what marks folders.
func TestPages(t *testing.T) {
	pages := map[string]string{
		"":     `<IsTruncated>true</IsTruncated><NextContinuationToken>a+/=</NextContinuationToken><EncodingType>url</EncodingType><Contents><Key>p/</Key></Contents><Contents><Key>p/a+b%2Bc</Key><Size>3</Size><ETag>"1"</ETag></Contents>`,
		"a+/=": `<IsTruncated>false</IsTruncated><Contents><Key>p/d%2B</Key><Size>4</Size><ETag>"2"</ETag></Contents>`,
	}
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bkt/" || r.URL.Query().Get("prefix") != "p/" {
			t.Errorf("it asks for %s", r.URL)
		}
		fmt.Fprintf(w, "<ListBucketResult>%s</ListBucketResult>", pages[r.URL.Query().Get("continuation-token")])
	}, keys)
	got, err := c.List(t.Context(), "s3://bkt/p")
	if err != nil {
		t.Fatal(err)
	}
	want := []Object{{"s3://bkt/p/a b+c", 3, "1"}, {"s3://bkt/p/d%2B", 4, "2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRegion: unless a region is set, the client asks for that of the bucket and signs for it from then on.
func TestRegion(t *testing.T) {
	asked := 0
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if !strings.Contains(r.Header.Get("Authorization"), "/ap-south-1/s3/aws4_request") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>ap-south-1</Region></Error>")
			return
		}
		fmt.Fprint(w, "<ListBucketResult><Contents><Key>k</Key></Contents></ListBucketResult>")
	}, map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"})
	for range 2 {
		if got, err := c.List(t.Context(), "s3://bkt"); err != nil || len(got) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if asked != 3 {
		t.Errorf("%d requests, expected 3", asked)
	}
}

// TestUnsigned: without keys, requests are not signed, and a refusal says so.
func TestUnsigned(t *testing.T) {
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("it is signed")
		}
		w.WriteHeader(http.StatusForbidden)
	}, nil)
	_, err := c.List(t.Context(), "s3://bkt/p")
	if want := "s3://bkt/p: the store answers 403 AccessDenied: Access Denied. (no credentials were found)"; err == nil || err.Error() != want {
		t.Errorf("%v, expected %s", err, want)
	}
}

// TestFetch: what a store does with a download, and what becomes of it. Nothing is left
// of one that fails.
func TestFetch(t *testing.T) {
	const content = "0123456789"
	o := Object{"s3://bkt/k", int64(len(content)), "tag"}
	for _, c := range []struct {
		name  string
		does  func(w http.ResponseWriter, r *http.Request, try int)
		tries int
		err   error
	}{
		{"whole", func(w http.ResponseWriter, _ *http.Request, _ int) { fmt.Fprint(w, content) }, 1, nil},
		{"cut, and goes on", func(w http.ResponseWriter, r *http.Request, try int) {
			if try == 1 {
				fmt.Fprint(w, content[:4])
				return
			}
			if r.Header.Get("Range") != "bytes=4-9" {
				t.Errorf("the range is %q", r.Header.Get("Range"))
			}
			w.Header().Set("Content-Range", "bytes 4-9/10")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, content[4:])
		}, 2, nil},
		{"another range", func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Range", "bytes 7-9/10")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, content[7:])
		}, 2, errRange},
		{"always cut", func(w http.ResponseWriter, _ *http.Request, try int) {
			if try == 1 {
				fmt.Fprint(w, content[:4])
				return
			}
			w.Header().Set("Content-Range", "bytes 4-9/10")
			w.WriteHeader(http.StatusPartialContent)
		}, 9, ErrUnavailable},
		{"too many requests", func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusTooManyRequests) }, 8, ErrUnavailable},
		{"replaced, by its tag", func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("ETag", `"other"`)
			fmt.Fprint(w, content)
		}, 1, ErrChanged},
		{"replaced, as asked", func(w http.ResponseWriter, r *http.Request, _ int) {
			if r.Header.Get("If-Match") == `"tag"` {
				w.WriteHeader(http.StatusPreconditionFailed)
			}
		}, 1, ErrChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			try := 0
			client := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
				try++
				c.does(w, r, try)
			}, keys)
			to := filepath.Join(t.TempDir(), "k")
			err := client.Fetch(context.Background(), o, to)
			if !errors.Is(err, c.err) || try != c.tries {
				t.Errorf("%v after %d tries, expected %v after %d", err, try, c.err, c.tries)
			}
			got, _ := os.ReadFile(to)
			if want := map[bool]string{true: content}[c.err == nil]; string(got) != want {
				t.Errorf("there is %q, expected %q", got, want)
			}
			if _, err := os.Stat(to); c.err != nil && err == nil {
				t.Error("a file is left")
			}
		})
	}
}
