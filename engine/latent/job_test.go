package latent

// Jobs of the tests: whole nanoseconds from a linear congruential generator, so that the prototype in Python, from which
// testdata/oracle.json was written, makes the same.

// lcg is the generator of Knuth's MMIX; every draw takes its upper half.
type lcg uint64

func (g *lcg) next() int64 {
	*g = *g*6364136223846793005 + 1442695040888963407
	return int64(*g >> 33)
}

// noise returns a roughly normal value: the sum of six uniform values, of mean 0 and deviation √(1/2)·2¹⁶.
func (g *lcg) noise() (sum int64) {
	for range 6 {
		sum += g.next()>>14 - 1<<16
	}
	return sum
}

// job is a run of steps of 100 ms.
type job struct {
	Seed, Steps, Ranks int
	Phi                int64 // autocorrelation, in 1/1024
	Noise              int64 // of a piece: as many ns as its noise has units, over 16
	Late               int   // rank; −1: none
	By                 int64 // ns in Piece
	Piece              int   // −1: a quarter of it in each
	From               int   // first step of it
	Bimodal            bool  // longer or shorter by By, step by step
}

var base = [4]int64{10e6, 30e6, 50e6, 10e6}

// own returns what the ranks work, [piece][step · ranks + rank].
func (j job) own() [][]int64 {
	g := lcg(j.Seed)
	out := make([][]int64, len(base))
	for k := range out {
		out[k] = make([]int64, j.Steps*j.Ranks)
	}
	state := make([]int64, j.Ranks*len(base))
	for t := range j.Steps {
		for r := range j.Ranks {
			for k := range base {
				e := &state[r*len(base)+k]
				*e = (*e*j.Phi)>>10 + g.noise()
				x := base[k] + (*e*j.Noise)>>4
				if flip := g.next() & 1; r == j.Late && t >= j.From {
					by := j.By
					if j.Bimodal && flip == 1 {
						by = -by
					}
					switch {
					case j.Piece == k:
						x += by
					case j.Piece < 0:
						x += by / 4
					}
				}
				out[k][t*j.Ranks+r] = max(0, x)
			}
		}
	}
	return out
}

func (j job) work() *Work {
	return &Work{Ranks: j.Ranks, Points: 1, Step: 100e6, Own: j.own(), Pieces: []Piece{{Stage: 0}, {Stage: 1}, {Stage: 2}, {Stage: 3}}}
}
