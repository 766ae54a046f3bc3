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
	d.Mean = figureOrNaN(stats.Mean(x))
	d.SD = figureOrNaN(stats.StandardDeviationSample(x))
	d.Min = figureOrNaN(stats.Min(x))
	d.Median = figureOrNaN(stats.Median(x))
	d.P95 = figureOrNaN(stats.PercentileNearestRank(x, 95))
	d.P99 = figureOrNaN(stats.PercentileNearestRank(x, 99))
	d.Max = figureOrNaN(stats.Max(x))
	d.IQR = figureOrNaN(stats.InterQuartileRange(x))
	d.MAD = figureOrNaN(stats.MedianAbsoluteDeviation(x))
	return d
}

// figureOrNaN returns a figure, or NaN where the sample is too small for it.
func figureOrNaN(figure float64, err error) float64 {
	if err != nil {
		return math.NaN()
	}
	return figure
}
