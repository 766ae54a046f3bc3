// Package ordered keeps values by key, in the order in which their keys came first.
package ordered

// Numbers are those of keys, from 0 on.
type Numbers[K comparable] map[K]int

// Of returns the number of a key, and whether the key is new.
func (n Numbers[K]) Of(key K) (number int, first bool) {
	number, known := n[key]
	if !known {
		number = len(n)
		n[key] = number
	}
	return number, !known
}

// List is values by key. The zero value is empty.
type List[K comparable, V any] struct {
	All []V // in the order of their keys
	at  Numbers[K]
}

// Of returns the value of a key, and whether the key is new and the value thus zero. It is
// valid until the next new key.
func (l *List[K, V]) Of(key K) (v *V, first bool) {
	if l.at == nil {
		l.at = make(Numbers[K])
	}
	i, first := l.at.Of(key)
	if first {
		l.All = append(l.All, *new(V))
	}
	return &l.All[i], first
}
