package tables

import (
	"math"

	"github.com/montanaflynn/stats"
)

// description sums up a sample. Percentiles are by nearest rank, so that each is a value that
// occurred: of fewer than 20 values p95 is the largest, of fewer than 100 p99. Quartiles are
// the medians of the lower and the upper half, the middle value of an odd number left out
// (Moore and McCabe). SD divides by n − 1. Figures that a sample is too small for are NaN:
// all of none, SD and IQR of one.
type description struct {
	N                          int
	Mean, SD                   float64
	Min, Median, P95, P99, Max float64
	IQR                        float64 // third quartile less the first
	MAD                        float64 // median distance from the median, not scaled
}

// describe sums a sample up. It leaves x as it is. O(n log n).
func describe(x []float64) description {
	d := description{N: len(x)}
	d.Mean = orNaN(stats.Mean(x))
	d.SD = orNaN(stats.StandardDeviationSample(x))
	d.Min = orNaN(stats.Min(x))
	d.Median = orNaN(stats.Median(x))
	d.P95 = orNaN(stats.PercentileNearestRank(x, 95))
	d.P99 = orNaN(stats.PercentileNearestRank(x, 99))
	d.Max = orNaN(stats.Max(x))
	d.IQR = orNaN(stats.InterQuartileRange(x))
	d.MAD = orNaN(stats.MedianAbsoluteDeviation(x))
	return d
}

// orNaN returns a figure, or NaN where the sample is too small for it.
func orNaN(figure float64, err error) float64 {
	if err != nil {
		return math.NaN()
	}
	return figure
}
