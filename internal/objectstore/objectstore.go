// Package objectstore lists and fetches objects of S3-compatible stores, and of
// Google Cloud Storage by its S3-compatible interface, with minio-go's client.
//
// An object is named s3://bucket/key or gs://bucket/key. The client finds the region of a
// bucket and tries again what a store answers by 429 or 5xx; a body that ends early goes
// on from there, in the same version of the object.
package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Schemes of names.
const (
	schemeS3 = "s3"
	schemeGS = "gs"
)

// IsURL reports whether a path names objects: s3://… or gs://….
func IsURL(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && (scheme == schemeS3 || scheme == schemeGS)
}

// AtOnce is how many requests are worth having under way.
const AtOnce = 32

// tries is how often a request is made, and how often in a row a body may end without
// having brought anything.
const tries = 8

// Client asks stores. It is safe for several goroutines.
type Client struct {
	stores map[string]*store // by scheme
}

// store is where the objects of a scheme are, and who asks.
type store struct {
	keys   *credentials.Credentials
	client *minio.Core
	err    error // why there is none
}

// New returns a client with the settings that the AWS tools take from the environment;
// env is os.Getenv or like it. docs/commands/batch.md lists them.
func New(env func(string) string) *Client {
	at, region := cmp.Or(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL")), cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION"))
	chain := []credentials.Provider{
		&credentials.Static{Value: credentials.Value{AccessKeyID: env("AWS_ACCESS_KEY_ID"), SecretAccessKey: env("AWS_SECRET_ACCESS_KEY"),
			SessionToken: env("AWS_SESSION_TOKEN"), SignerType: credentials.SignatureV4}},
		&credentials.FileAWSCredentials{},
	}
	if at == "" && !strings.EqualFold(env("AWS_EC2_METADATA_DISABLED"), "true") {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}, Region: region})
	}
	if at == "" { // where the region of each bucket is asked for
		at, region = "https://s3.amazonaws.com", ""
	}
	google := credentials.NewStaticV4(env("GS_ACCESS_KEY_ID"), env("GS_SECRET_ACCESS_KEY"), "")
	return &Client{stores: map[string]*store{
		schemeS3: newStore(at, region, credentials.NewChainCredentials(chain)),
		schemeGS: newStore(cmp.Or(env("GS_ENDPOINT_URL"), "https://storage.googleapis.com"), "auto", google),
	}}
}

// newStore returns the store at a URL. Buckets of all but Amazon's are in the path.
func newStore(at, region string, keys *credentials.Credentials) *store {
	s := &store{keys: keys}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		s.err = fmt.Errorf("the endpoint is %s, expected a URL such as https://minio.example.org:9000", at)
		return s
	}
	lookup := minio.BucketLookupPath
	if strings.HasSuffix(u.Host, ".amazonaws.com") {
		lookup = minio.BucketLookupAuto
	}
	s.client, s.err = minio.NewCore(u.Host, &minio.Options{Creds: keys, Secure: u.Scheme == "https", Region: region, BucketLookup: lookup, Transport: transport(), MaxRetries: tries})
	return s
}

// Object is an object as it was listed.
type Object struct {
	Name string // s3://bucket/key
	Size int64
	ETag string // of its content: another after each change
}

// cut parts s3://bucket/key.
func cut(name string) (scheme, bucket, key string) {
	scheme, rest, _ := strings.Cut(name, "://")
	bucket, key, _ = strings.Cut(rest, "/")
	return scheme, bucket, key
}

// List returns the objects below a name as if it were a folder, in the order of their
// keys, or the object that has this name. Objects that only mark a folder are left
// out. Errors name what was listed.
func (c *Client) List(ctx context.Context, name string) ([]Object, error) {
	scheme, bucket, key := cut(name)
	if bucket == "" {
		return nil, fmt.Errorf("%s: there is no bucket in it, expected %s://BUCKET/PREFIX", name, scheme)
	}
	folder := strings.TrimSuffix(key, "/")
	if folder != "" {
		folder += "/"
	}
	out, err := c.list(ctx, name, folder, 0)
	if err == nil && len(out) == 0 && key != "" && !strings.HasSuffix(key, "/") {
		out, err = c.list(ctx, name, key, 1) // of those that begin like it, the first
		if err == nil && len(out) > 0 && out[0].Name != name {
			out = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// list returns the objects of the bucket in a name whose keys begin with prefix, at most so
// many unless that is 0. Where a listing is cut, it goes on behind what came.
func (c *Client) list(ctx context.Context, name, prefix string, most int) (out []Object, err error) {
	scheme, bucket, _ := cut(name)
	s, last := c.stores[scheme], ""
	if s.err != nil {
		return nil, s.err
	}
	for range tries {
		before := last
		err = nil
		for o := range s.client.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, StartAfter: last, MaxKeys: most}) {
			if err = o.Err; err != nil {
				break
			}
			if last = o.Key; !strings.HasSuffix(o.Key, "/") {
				out = append(out, Object{Name: scheme + "://" + bucket + "/" + o.Key, Size: o.Size, ETag: o.ETag})
			}
			if len(out) == most && most > 0 {
				break
			}
		}
		if err == nil || !wasCut(err) && last == before {
			break
		}
	}
	return out, s.failure(ctx, err)
}

// Answers reports whether the store still lists what is named like an object.
func (c *Client) Answers(ctx context.Context, o Object) bool {
	_, _, key := cut(o.Name)
	_, err := c.list(ctx, o.Name, key, 1)
	return err == nil
}

// Fetch copies an object to a new file, and leaves none where it fails. An error
// does not name the object. An object that was replaced since it was listed is
// ErrChanged.
func (c *Client) Fetch(ctx context.Context, o Object, to string) error {
	return c.fetch(ctx, o, o.Size, to)
}

// FetchHead fetches, as Fetch does, the first bytes of an object, all if it has no more.
func (c *Client) FetchHead(ctx context.Context, o Object, bytes int64, to string) error {
	return c.fetch(ctx, o, min(bytes, o.Size), to)
}

func (c *Client) fetch(ctx context.Context, o Object, size int64, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	err = c.download(ctx, o, size, f)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

// download copies the first bytes of an object, in the version that was listed.
func (c *Client) download(ctx context.Context, o Object, size int64, to io.Writer) error {
	scheme, bucket, key := cut(o.Name)
	s := c.stores[scheme]
	if s.err != nil {
		return s.err
	}
	var err error
	for got, failed := int64(0), 0; got < size && failed < tries; {
		var body io.ReadCloser
		if body, err = s.body(ctx, bucket, key, o, got, size); err != nil {
			return s.failure(ctx, err)
		}
		var n int64
		n, err = io.Copy(to, io.LimitReader(body, size-got))
		body.Close()
		if disk := (*os.PathError)(nil); errors.As(err, &disk) {
			return err
		}
		if got += n; n == 0 {
			failed++
		}
		if err == nil && got < size {
			err = io.ErrUnexpectedEOF
		}
	}
	return s.failure(ctx, err)
}

var errRange = errors.New("the store answers with another range")

// body returns the content of an object from an offset on.
func (s *store) body(ctx context.Context, bucket, key string, o Object, from, to int64) (io.ReadCloser, error) {
	var get minio.GetObjectOptions
	get.Set("Accept-Encoding", "gzip, identity") // or Google unpacks what is stored as gzip
	err := get.SetMatchETag(bare(o.ETag))
	if err == nil && (from > 0 || to < o.Size) {
		err = get.SetRange(from, to-1)
	}
	if err != nil {
		return nil, err
	}
	body, info, header, err := s.client.GetObject(ctx, bucket, key, get)
	if err != nil {
		return nil, err
	}
	if info.ETag != "" && bare(info.ETag) != bare(o.ETag) {
		err = ErrChanged
	}
	if r := header.Get("Content-Range"); from > 0 && !strings.HasPrefix(r, fmt.Sprintf("bytes %d-", from)) {
		err = fmt.Errorf("%w: %q, expected bytes from %d on", errRange, r, from)
	}
	if err != nil {
		body.Close()
		return nil, err
	}
	return body, nil
}

// bare returns a tag without its quotes, and without what marks it as weak.
func bare(tag string) string { return strings.Trim(strings.TrimPrefix(tag, "W/"), `"`) }
