package serve

import "slices"

// kept are documents, each as it was made last, that which was asked for last first. They are mostKept bytes
// at most, or one document.
type kept []document

type document struct {
	name    string
	version uint64
	content []byte
}

func (k kept) get(name string, version uint64) ([]byte, bool) {
	i := slices.IndexFunc(k, func(d document) bool { return d.name == name && d.version == version })
	if i < 0 {
		return nil, false
	}
	d := k[i]
	copy(k[1:i+1], k[:i])
	k[0] = d
	return d.content, true
}

// put keeps a document instead of the version before.
func (k *kept) put(d document) {
	all := slices.DeleteFunc(*k, func(x document) bool { return x.name == d.name })
	*k = slices.Insert(all, 0, d)
	for k.bytes() > mostKept && len(*k) > 1 {
		*k = slices.Delete(*k, len(*k)-1, len(*k))
	}
}

func (k kept) bytes() (n int) {
	for _, d := range k {
		n += len(d.content)
	}
	return n
}
