package profiler

// chunks is a list that grows without moving what it has, which would leave
// several times its size behind to collect.
type chunks[T any] struct {
	full [][]T
	last []T
}

// chunkLength is how many elements a chunk has.
const chunkLength = 1 << 8

func (c *chunks[T]) add(x T) {
	if len(c.last) == cap(c.last) {
		if c.last != nil {
			c.full = append(c.full, c.last)
		}
		c.last = make([]T, 0, chunkLength)
	}
	c.last = append(c.last, x)
}

func (c *chunks[T]) len() int { return len(c.full)*chunkLength + len(c.last) }

// take is all elements in one piece. The list is empty afterwards.
func (c *chunks[T]) take() []T {
	if c.len() == 0 {
		return nil
	}
	all := make([]T, 0, c.len())
	for _, chunk := range c.full {
		all = append(all, chunk...)
	}
	all = append(all, c.last...)
	c.full, c.last = nil, nil
	return all
}
