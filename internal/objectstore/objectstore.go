// Package objectstore lists and fetches objects of S3-compatible stores, and of
// Google Cloud Storage by its S3-compatible interface, with minio-go's client.
//
// An object is named s3://bucket/key or gs://bucket/key. What a store answers by 429 or
// 5xx, or whose connection is cut, is tried again a bounded number of times with growing
// waits; a listing or a body that ends early goes on from there, a body in the same
// version of the object.
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
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Schemes of names.
const (
	schemeS3 = "s3"
	schemeGS = "gs"
)

// Is reports whether a path names objects: s3://… or gs://….
func Is(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && (scheme == schemeS3 || scheme == schemeGS)
}

// AtOnce is how many requests are worth having under way.
const AtOnce = 32

// Client asks stores. It is safe for several goroutines.
type Client struct {
	Tries int           // requests without progress before giving up; 0: 8
	Wait  time.Duration // before the second try, which doubles up to 50 times that; 0: 100 ms

	stores map[string]*store // by scheme
}

// store is where the objects of a scheme are, and who asks.
type store struct {
	endpoint string // "": AWS, by region
	region   string
	keys     *credentials.Credentials

	mu        sync.Mutex
	elsewhere map[string]string      // regions of buckets that are in another
	clients   map[string]*minio.Core // by region
}

// New is a client with the settings that the AWS tools take from the environment;
// env is os.Getenv or like it. docs/commands/batch.md lists them.
func New(env func(string) string) *Client {
	aws := &store{endpoint: cmp.Or(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL")), region: cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION"), "us-east-1")}
	chain := []credentials.Provider{
		&credentials.Static{Value: credentials.Value{AccessKeyID: env("AWS_ACCESS_KEY_ID"), SecretAccessKey: env("AWS_SECRET_ACCESS_KEY"),
			SessionToken: env("AWS_SESSION_TOKEN"), SignerType: credentials.SignatureV4}},
		&credentials.FileAWSCredentials{},
	}
	if aws.endpoint == "" && !strings.EqualFold(env("AWS_EC2_METADATA_DISABLED"), "true") {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}, Region: aws.region})
	}
	aws.keys = credentials.NewChainCredentials(chain)
	google := &store{endpoint: cmp.Or(env("GS_ENDPOINT_URL"), "https://storage.googleapis.com"), region: "auto",
		keys: credentials.NewStaticV4(env("GS_ACCESS_KEY_ID"), env("GS_SECRET_ACCESS_KEY"), "")}
	return &Client{stores: map[string]*store{schemeS3: aws, schemeGS: google}}
}

// client asks for a bucket, in the region where it is.
func (s *store) client(bucket string) (*minio.Core, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	region := cmp.Or(s.elsewhere[bucket], s.region)
	if c := s.clients[region]; c != nil {
		return c, nil
	}
	at, lookup := s.endpoint, minio.BucketLookupPath
	if at == "" {
		at, lookup = "https://s3."+region+".amazonaws.com", minio.BucketLookupAuto
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("the endpoint is %s, expected a URL such as https://minio.example.org:9000", at)
	}
	c, err := minio.NewCore(u.Host, &minio.Options{Creds: s.keys, Secure: u.Scheme == "https", Region: region, BucketLookup: lookup, Transport: transport(), MaxRetries: 1})
	if err != nil {
		return nil, err
	}
	if s.clients == nil {
		s.clients = make(map[string]*minio.Core)
	}
	s.clients[region] = c
	return c, nil
}

// moved notes the region in which a bucket is, and reports whether that is news.
func (s *store) moved(bucket, region string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if region == "" || region == cmp.Or(s.elsewhere[bucket], s.region) {
		return false
	}
	if s.elsewhere == nil {
		s.elsewhere = make(map[string]string)
	}
	s.elsewhere[bucket] = region
	return true
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

// List is the objects below a name as if it were a folder, in the order of their
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
	out, err := c.listed(ctx, scheme+"://"+bucket+"/", folder, 0)
	if err == nil && len(out) == 0 && key != "" && !strings.HasSuffix(key, "/") {
		out, err = c.listed(ctx, scheme+"://"+bucket+"/", key, 1) // of those that begin like it, the first
		if err == nil && len(out) > 0 && out[0].Name != name {
			out = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// listed are the objects whose keys begin with prefix, at most so many unless that is 0.
func (c *Client) listed(ctx context.Context, at, prefix string, most int) (out []Object, err error) {
	last, n := "", 0
	return out, c.do(ctx, at, func(ctx context.Context, from *minio.Core, bucket string) (int64, error) {
		before := n
		for o := range from.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, StartAfter: last, MaxKeys: most}) {
			if o.Err != nil {
				return int64(n-before) * enough, o.Err
			}
			last, n = o.Key, n+1
			if !strings.HasSuffix(o.Key, "/") {
				out = append(out, Object{Name: at + o.Key, Size: o.Size, ETag: o.ETag})
			}
			if n == most {
				break
			}
		}
		return 0, ctx.Err()
	})
}

// Answers reports whether the store still lists what is named like an object.
func (c *Client) Answers(ctx context.Context, o Object) bool {
	scheme, bucket, key := cut(o.Name)
	_, err := c.listed(ctx, scheme+"://"+bucket+"/", key, 1)
	return err == nil
}

// Fetch copies an object to a new file, and leaves none where it fails. An error
// does not name the object. An object that was replaced since it was listed is
// ErrChanged.
func (c *Client) Fetch(ctx context.Context, o Object, to string) error {
	return c.fetch(ctx, o, o.Size, to)
}

// FetchHead is Fetch of the first bytes of an object, all if it has no more.
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
	if size > 0 {
		d := &download{object: o, size: size, to: f}
		err = c.do(ctx, o.Name, d.take)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

// download is an object on its way into a file.
type download struct {
	object Object
	size   int64 // wanted
	got    int64
	to     *os.File
}

// take asks for what has not come yet, of the version that was listed, and appends what comes.
func (d *download) take(ctx context.Context, from *minio.Core, bucket string) (int64, error) {
	var o minio.GetObjectOptions
	o.Set("Accept-Encoding", "gzip, identity") // or Google unpacks what is stored as gzip
	err := o.SetMatchETag(bare(d.object.ETag))
	if err == nil && (d.got > 0 || d.size < d.object.Size) {
		err = o.SetRange(d.got, d.size-1)
	}
	if err != nil {
		return 0, err
	}
	_, _, key := cut(d.object.Name)
	body, info, header, err := from.GetObject(ctx, bucket, key, o)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	if info.ETag != "" && bare(info.ETag) != bare(d.object.ETag) {
		return 0, ErrChanged
	}
	switch r := header.Get("Content-Range"); {
	case r == "" && d.got > 0: // the store knows no ranges
		if _, err := io.CopyN(io.Discard, body, d.got); err != nil {
			return 0, err
		}
	case r != "" && !strings.HasPrefix(r, fmt.Sprintf("bytes %d-", d.got)):
		return 0, fmt.Errorf("the store answers with the range %q, expected bytes from %d on", r, d.got)
	}
	n, err := io.Copy(disk{d.to}, io.LimitReader(body, d.size-d.got))
	d.got += n
	if err == nil && d.got < d.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// bare is a tag without its quotes, and without what marks it as weak.
func bare(tag string) string { return strings.Trim(strings.TrimPrefix(tag, "W/"), `"`) }

// disk tells errors of the disk from those of the network, of which a copy may
// have both.
type disk struct{ to *os.File }

func (d disk) Write(p []byte) (int, error) {
	n, err := d.to.Write(p)
	if err != nil {
		err = &localError{err}
	}
	return n, err
}

// localError is one of this machine, which no further try changes.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }
