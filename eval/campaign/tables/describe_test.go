package tables

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestDescribe compares with NumPy: mean, std(ddof=1), median, percentile(method='inverted_cdf'),
// and the medians of the sorted halves.
func TestDescribe(t *testing.T) {
	even := []float64{12.5, 3, 7, 7, 41, 9.25, 3.5, 8, 10, 6, 5, 100, 4.75, 2, 11, 13, 14, 1, 0.5, 15, 16, 17}
	nan := math.NaN()
	for name, c := range map[string]struct {
		sample []float64
		want   description
	}{
		"22 values": {even, description{N: 22, Mean: 13.931818181818182, SD: 21.02240610495284, Min: 0.5, Median: 8.625, P95: 41, P99: 100, Max: 100, IQR: 9.25, MAD: 4.75}},
		"7 values":  {even[:7], description{N: 7, Mean: 11.892857142857142, SD: 13.241236994437383, Min: 3, Median: 7, P95: 41, P99: 41, Max: 41, IQR: 9, MAD: 3.5}},
		"one value": {[]float64{3}, description{N: 1, Mean: 3, SD: nan, Min: 3, Median: 3, P95: 3, P99: 3, Max: 3, IQR: nan}},
		"none":      {nil, description{N: 0, Mean: nan, SD: nan, Min: nan, Median: nan, P95: nan, P99: nan, Max: nan, IQR: nan, MAD: nan}},
	} {
		sample := slices.Clone(c.sample)
		if diff := cmp.Diff(c.want, describe(sample), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-14, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !slices.Equal(sample, c.sample) {
			t.Errorf("%s: the sample is %v afterwards", name, sample)
		}
	}
}
