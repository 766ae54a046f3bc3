// Package objectstore lists and fetches objects of S3-compatible stores, and of
// Google Cloud Storage by its S3-compatible interface.
//
// An object is named s3://bucket/key or gs://bucket/key. Requests are signed by
// Signature Version 4. A request that a store answers by 429 or 5xx, or whose
// connection is cut, is repeated a bounded number of times with growing waits; a
// body that ends early is asked for from there on, of the same version of the
// object.
package objectstore

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

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

// cut parts s3://bucket/key.
func cut(name string) (scheme, bucket, key string) {
	scheme, rest, _ := strings.Cut(name, "://")
	bucket, key, _ = strings.Cut(rest, "/")
	return scheme, bucket, key
}

// Where stores are when the environment does not say.
const (
	endpointGS    = "https://storage.googleapis.com"
	usualRegion   = "us-east-1"
	usualRegionGS = "auto"
)

// Client asks stores. It is safe for several goroutines.
type Client struct {
	Tries int           // requests without progress before giving up; 0: 8
	Wait  time.Duration // before the second try, which doubles up to 50 times that; 0: 100 ms

	http   *http.Client
	stores map[string]*store // by scheme
}

// store is where the objects of a scheme are, and who asks.
type store struct {
	endpoint string // "": AWS, by region
	region   string
	keys     *credentials.Credentials

	mu        sync.Mutex
	regions   map[string]string // of buckets that are elsewhere
	anonymous bool              // there are no keys
}

// New is a client with the settings that the AWS tools take from the environment;
// env is os.Getenv or like it. docs/commands/batch.md lists them.
func New(env func(string) string) *Client {
	first := func(names ...string) string {
		for _, name := range names {
			if v := env(name); v != "" {
				return v
			}
		}
		return ""
	}
	aws := &store{endpoint: first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), region: first("AWS_REGION", "AWS_DEFAULT_REGION", "")}
	if aws.region == "" {
		aws.region = usualRegion
	}
	chain := []credentials.Provider{
		&credentials.Static{Value: credentials.Value{AccessKeyID: env("AWS_ACCESS_KEY_ID"), SecretAccessKey: env("AWS_SECRET_ACCESS_KEY"),
			SessionToken: env("AWS_SESSION_TOKEN"), SignerType: credentials.SignatureV4}},
		&credentials.FileAWSCredentials{},
	}
	if aws.endpoint == "" && !strings.EqualFold(env("AWS_EC2_METADATA_DISABLED"), "true") {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}, Region: aws.region})
	}
	aws.keys = credentials.NewChainCredentials(chain)
	google := &store{endpoint: first("GS_ENDPOINT_URL"), region: usualRegionGS,
		keys: credentials.NewStaticV4(first("GS_ACCESS_KEY_ID"), first("GS_SECRET_ACCESS_KEY"), "")}
	if google.endpoint == "" {
		google.endpoint = endpointGS
	}
	return &Client{http: newHTTP(), stores: map[string]*store{schemeS3: aws, schemeGS: google}}
}

// Bounds on how long a store may say nothing.
const (
	connectWithin = 10 * time.Second
	answerWithin  = 30 * time.Second
)

// AtOnce is how many requests are worth having under way.
const AtOnce = 32

func newHTTP() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connectWithin, KeepAlive: answerWithin}).DialContext,
			TLSHandshakeTimeout:   connectWithin,
			ResponseHeaderTimeout: answerWithin,
			IdleConnTimeout:       2 * answerWithin,
			MaxIdleConnsPerHost:   AtOnce,
			DisableCompression:    true, // objects are wanted as they are stored
		},
		// A store redirects to the region of a bucket, where the signature is another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// credentials are those of a store; ok is false where there are none.
func (s *store) credentials(ctx context.Context) (v credentials.Value, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anonymous || ctx.Err() != nil {
		return v, false
	}
	v, err := s.keys.GetWithContext(nil)
	s.anonymous = err != nil || v.AccessKeyID == "" || v.SecretAccessKey == ""
	return v, !s.anonymous
}

func (s *store) regionOf(bucket string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.regions[bucket]; r != "" {
		return r
	}
	return s.region
}

// moved notes the region in which a bucket is, and reports whether that is news.
func (s *store) moved(bucket, region string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if region == "" || region == s.region && s.regions[bucket] == "" || region == s.regions[bucket] {
		return false
	}
	if s.regions == nil {
		s.regions = make(map[string]string)
	}
	s.regions[bucket] = region
	return true
}

// address is where a bucket is: by its own host at AWS, below the endpoint elsewhere.
// A name with a dot fits no certificate of AWS.
func (s *store) address(bucket string) (*url.URL, error) {
	if s.endpoint != "" {
		u, err := url.Parse(s.endpoint)
		if err != nil || u.Host == "" {
			return nil, &settingError{s.endpoint}
		}
		u.Path = strings.TrimSuffix(u.Path, "/") + "/" + bucket
		return u, nil
	}
	region := s.regionOf(bucket)
	host := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	if strings.Contains(bucket, ".") {
		return &url.URL{Scheme: "https", Host: host, Path: "/" + bucket}, nil
	}
	return &url.URL{Scheme: "https", Host: bucket + "." + host}, nil
}

// settingError is about an endpoint that is no URL.
type settingError struct{ endpoint string }

func (e *settingError) Error() string {
	return "the endpoint is " + e.endpoint + ", expected a URL such as https://minio.example.org:9000"
}
