package objectstore

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Object is an object as it was listed.
type Object struct {
	Name string // s3://bucket/key
	Size int64
	ETag string // of its content: another after each change
}

// page is a part of a listing.
type page struct {
	Encoding string `xml:"EncodingType"`
	Contents []struct {
		Key  string
		Size int64
		ETag string
	}
	Truncated bool   `xml:"IsTruncated"`
	Next      string `xml:"NextContinuationToken"`
}

// maxPage bounds a part of a listing, which has at most 1,000 names.
const maxPage = 16 << 20

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
	out, err := c.listed(ctx, scheme, bucket, folder)
	if err == nil && len(out) == 0 && key != "" && !strings.HasSuffix(key, "/") {
		if out, err = c.listed(ctx, scheme, bucket, key); err == nil {
			out = exactly(out, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// exactly is the object of a name among those that begin like it.
func exactly(all []Object, name string) []Object {
	for _, o := range all {
		if o.Name == name {
			return []Object{o}
		}
	}
	return nil
}

func (c *Client) listed(ctx context.Context, scheme, bucket, prefix string) ([]Object, error) {
	var out []Object
	at := scheme + "://" + bucket + "/"
	for next := ""; ; {
		query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {"url"}}
		if next != "" {
			query.Set("continuation-token", next)
		}
		p, err := c.page(ctx, at, query)
		if err != nil {
			return nil, err
		}
		for _, o := range p.Contents {
			if p.Encoding == "url" {
				if o.Key, err = url.QueryUnescape(o.Key); err != nil {
					return nil, err
				}
			}
			if !strings.HasSuffix(o.Key, "/") {
				out = append(out, Object{Name: at + o.Key, Size: o.Size, ETag: o.ETag})
			}
		}
		if !p.Truncated || p.Next == "" {
			return out, nil
		}
		next = p.Next
	}
}

func (c *Client) page(ctx context.Context, at string, query url.Values) (p page, err error) {
	r := &request{name: at, query: query, take: func(resp *http.Response) error {
		p = page{}
		return xml.NewDecoder(io.LimitReader(resp.Body, maxPage)).Decode(&p)
	}}
	return p, c.do(ctx, r, func() int64 { return 0 })
}

// Answers reports whether the store still lists what is named like an object.
func (c *Client) Answers(ctx context.Context, o Object) bool {
	scheme, bucket, key := cut(o.Name)
	_, err := c.page(ctx, scheme+"://"+bucket+"/", url.Values{"list-type": {"2"}, "prefix": {key}, "max-keys": {"1"}})
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
		err = c.do(ctx, &request{name: o.Name, header: d.ask(), take: d.take}, func() int64 { return d.got })
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
	header http.Header // of the next request
	to     *os.File
}

// ask is the header of the next request: for what has not come yet, of the version
// that was listed.
func (d *download) ask() http.Header {
	if d.header == nil {
		d.header = http.Header{"If-Match": {d.object.ETag}}
	}
	if d.got > 0 || d.size < d.object.Size {
		d.header["Range"] = []string{fmt.Sprintf("bytes=%d-%d", d.got, d.size-1)}
	}
	return d.header
}

// take appends what comes.
func (d *download) take(resp *http.Response) error {
	if tag := resp.Header.Get("ETag"); tag != "" && bare(tag) != bare(d.object.ETag) {
		return ErrChanged
	}
	defer d.ask()
	from := int64(0)
	if resp.StatusCode == http.StatusPartialContent {
		text, _, _ := strings.Cut(strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes "), "-")
		var err error
		if from, err = strconv.ParseInt(text, 10, 64); err != nil || from != d.got {
			return fmt.Errorf("the store answers with the range %q, expected bytes from %d on", resp.Header.Get("Content-Range"), d.got)
		}
	}
	if from != d.got { // the store knows no ranges
		if _, err := io.CopyN(io.Discard, resp.Body, d.got); err != nil {
			return err
		}
	}
	n, err := io.Copy(disk{d.to}, io.LimitReader(resp.Body, d.size-d.got))
	d.got += n
	if err == nil && d.got < d.size {
		err = io.ErrUnexpectedEOF
	}
	return err
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
