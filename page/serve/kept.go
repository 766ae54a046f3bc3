package serve

// kept is documents by name, each as it was made last, mostKept bytes of them at most: those that were asked for last.
type kept struct {
	documents map[string]*document
	bytes     int
	clock     int
}

type document struct {
	version uint64
	content []byte
	used    int // when it was asked for last
}

func (k *kept) get(name string, version uint64) ([]byte, bool) {
	d := k.documents[name]
	if d == nil || d.version != version {
		return nil, false
	}
	k.clock++
	d.used = k.clock
	return d.content, true
}

// put keeps a document. It drops the version before, and others, least recently used first.
func (k *kept) put(name string, d document) {
	if k.documents == nil {
		k.documents = make(map[string]*document)
	}
	if before := k.documents[name]; before != nil {
		k.bytes -= len(before.content)
		delete(k.documents, name)
	}
	for k.bytes += len(d.content); k.bytes > mostKept; {
		oldest := ""
		for other, d := range k.documents {
			if oldest == "" || d.used < k.documents[oldest].used {
				oldest = other
			}
		}
		k.bytes -= len(k.documents[oldest].content)
		delete(k.documents, oldest)
	}
	k.clock++
	d.used = k.clock
	k.documents[name] = &d
}
