package serve

// kept is documents by name, mostKept bytes of them at most: those that were asked for last.
type kept struct {
	documents map[string]*document
	bytes     int
	clock     int
}

type document struct {
	content []byte
	used    int // when it was asked for last
}

func (k *kept) get(name string) ([]byte, bool) {
	d := k.documents[name]
	if d == nil {
		return nil, false
	}
	k.clock++
	d.used = k.clock
	return d.content, true
}

// put keeps a document that is not kept yet. It drops others, least recently used first.
func (k *kept) put(name string, content []byte) {
	if k.documents == nil {
		k.documents = make(map[string]*document)
	}
	for k.bytes += len(content); k.bytes > mostKept; {
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
	k.documents[name] = &document{content, k.clock}
}
