package breakdown

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/sfstat/sfstat/internal/student"
)

// MinPeers is the least size of a role group in which a rank can stand out:
// three others have a spread with two degrees of freedom.
const MinPeers = 4

// Mark is a rank whose share of a category is unlike its peers'.
type Mark struct {
	Rank     int // position in Result.Ranks
	Category Category
	Share    float64
	Peers    float64 // mean of the others in its role group
	T        float64 // infinite where the others are all equal
	P        float64 // of a healthy run having it anywhere, [0, 1]
}

// gap returns the gap to seven digits, so that rounding decides no order: an excess of one category is a lack of another.
func (m *Mark) gap() float32 { return float32(math.Abs(m.Share - m.Peers)) }

// compared are the categories in which ranks are held against each other.
var compared = [...]Category{Compute, Communication, Memory, Idle, ExposedComm}

// mark finds who stands out.
func (r *Result) mark() {
	groups := make(map[string][]int)
	for i := range r.Ranks {
		if r.Ranks[i].Span > 0 {
			g := r.Ranks[i].Role.Group()
			groups[g] = append(groups[g], i)
		}
	}
	for _, members := range groups {
		if len(members) >= MinPeers {
			r.Tests += len(members) * len(compared)
		}
	}
	for _, members := range groups {
		for _, c := range compared {
			if len(members) >= MinPeers {
				r.compare(members, c)
			}
		}
	}
	slices.SortFunc(r.Marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(b.gap(), a.gap()), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Category, b.Category))
	})
}

// compare holds each member's share against those of the others.
func (r *Result) compare(members []int, c Category) {
	n := len(members)
	x := make([]float64, n)
	for i, at := range members {
		x[i] = r.Ranks[at].Share(c)
	}
	all := floats.Sum(x)
	for i, t := range student.LeaveOneOut(x) {
		others := (all - x[i]) / float64(n-1)
		gap := x[i] - others
		if math.Abs(gap) < r.Option.Least || gap == 0 {
			continue
		}
		p := min(1, student.TwoSided(t, float64(n-2))*float64(r.Tests))
		if p < r.Option.Alpha {
			r.Marks = append(r.Marks, Mark{Rank: members[i], Category: c, Share: x[i], Peers: others, T: t, P: p})
		}
	}
}
