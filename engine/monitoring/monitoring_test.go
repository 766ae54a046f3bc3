package monitoring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace/health"
)

// job is 8 GPUs of a host, sampled every second for 100 s from 1000 s on. value gives the
// reading of a GPU at a second.
func job(q health.Quantity, value func(gpu, second int) float64) (*Job, []Unit) {
	var j Job
	var units []Unit
	for gpu := range 8 {
		s := health.Series{Host: "h2", Device: gpu, Quantity: q}
		for second := range 100 {
			s.Readings = append(s.Readings, health.Reading{At: int64(1000+second) * 1e9, Value: value(gpu, second)})
		}
		u := Unit{"h2", gpu}
		units = append(units, u)
		j.Add(u, &s)
	}
	return &j, units
}

func Example() {
	j, units := job(health.SMClock, func(gpu, second int) float64 {
		if gpu == 3 && second >= 40 && second < 60 {
			return 1005
		}
		return 1755 - 15*float64((gpu+second)%2)
	})
	for _, during := range []Interval{{1000e9, 1030e9}, {1042e9, 1058e9}} {
		unusual, compared := j.Differences(Question{Units: units[3:4], Peers: units, Times: []Interval{during}})
		fmt.Println(len(unusual), "of", len(compared))
		for _, d := range unusual {
			fmt.Printf("%v of %s, GPU %d: %.0f, others %.0f\n", d.Quantity, d.Host, d.Device, d.Own, d.Median)
		}
	}
	// Output:
	// 0 of 1
	// 1 of 1
	// sm_clock of h2, GPU 3: 1005, others 1740
}

func TestDifferences(t *testing.T) {
	counts := func(odd float64) func(gpu, second int) float64 { // GPU 3 counts odd a second, the others 1 in 10 s
		return func(gpu, second int) float64 {
			if gpu == 3 {
				return odd * float64(second)
			}
			return float64(second / 10)
		}
	}
	share := func(of float64) func(gpu, second int) float64 { // the clock of GPU 3 is lowered in a share of each second, that of others in none
		return func(gpu, second int) float64 { return of * float64(second) * float64(1-min(1, (gpu-3)*(gpu-3))) }
	}
	for _, c := range []struct {
		name  string
		q     health.Quantity
		value func(gpu, second int) float64
		times []Interval
		want  bool
	}{
		{"clocks alike", health.SMClock, func(gpu, second int) float64 { return 1755 - 15*float64((gpu+second)%3) }, nil, false},
		{"a higher clock", health.SMClock, func(gpu, _ int) float64 { return 1005 + 750*float64(1-min(1, (gpu-3)*(gpu-3))) }, nil, false},
		{"1 % lower", health.SMClock, func(gpu, _ int) float64 { return 1755 - 15*float64(1-min(1, (gpu-3)*(gpu-3))) }, nil, false},
		{"12 % lower", health.SMClock, func(gpu, _ int) float64 { return 1755 - 210*float64(1-min(1, (gpu-3)*(gpu-3))) }, nil, true},
		{"replays now and then", health.PCIeReplays, counts(0.11), nil, false},
		{"replays", health.PCIeReplays, counts(5), nil, true},
		{"one uncorrected error", health.ECCUncorrected, func(gpu, second int) float64 {
			if gpu == 3 && second >= 50 {
				return 8
			}
			return 7
		}, nil, true},
		{"that error at another time", health.ECCUncorrected, func(gpu, second int) float64 {
			if gpu == 3 && second >= 50 {
				return 8
			}
			return 7
		}, []Interval{{1060e9, 1090e9}}, false},
		{"a counter that was set back", health.PCIeReplays, func(gpu, second int) float64 {
			if gpu == 3 && second < 50 {
				return 1e6
			}
			return float64(second)
		}, nil, false},
		{"throttled in 38 % of the time", health.ThermalTime, share(0.38), nil, true},
		{"throttled in 3 % of the time", health.ThermalTime, share(0.03), nil, false},
		{"at the power limit in 20 %", health.PowerCapTime, share(0.2), nil, false},
		{"at the power limit in 30 %", health.PowerCapTime, share(0.3), nil, true},
		{"a row that could not be replaced", health.RemapFailed, func(gpu, _ int) float64 { return float64(1 - min(1, (gpu-3)*(gpu-3))) }, nil, true},
		{"busy is no cause", health.Utilization, func(gpu, _ int) float64 { return float64(1 - min(1, (gpu-3)*(gpu-3))) }, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, units := job(c.q, c.value)
			unusual, _ := j.Differences(Question{Units: units[3:4], Peers: units, Times: c.times})
			if got := len(unusual) > 0; got != c.want {
				t.Errorf("%+v, expected a difference: %v", unusual, c.want)
			}
		})
	}
}

// TestInstead: where both a flag and a time were recorded, the time counts, whatever the flag says; a flag alone counts.
func TestInstead(t *testing.T) {
	flag := func(gpu, second int) float64 {
		if gpu == 3 && second%5 < 2 {
			return 1
		}
		return 0
	}
	for _, c := range []struct {
		name string
		time float64 // share of GPU 3; negative: no time was recorded
		want []health.Quantity
	}{
		{"a flag alone", -1, []health.Quantity{health.Throttled}},
		{"both", 0.38, []health.Quantity{health.ThermalTime}},
		{"a time that denies the flag", 0.01, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, units := job(health.Throttled, flag)
			for _, u := range units {
				s := health.Series{Quantity: health.ThermalTime}
				for second := range 100 {
					of := 0.0
					if u.Device == 3 {
						of = c.time
					}
					s.Readings = append(s.Readings, health.Reading{At: int64(1000+second) * 1e9, Value: of * float64(second)})
				}
				if c.time >= 0 {
					j.Add(u, &s)
				}
			}
			var got []health.Quantity
			unusual, _ := j.Differences(Question{Units: units[3:4], Peers: units})
			for _, d := range unusual {
				got = append(got, d.Quantity)
				if d.Quantity == health.ThermalTime && (d.Own < 0.3799 || d.Own > 0.3801) {
					t.Errorf("a share of %v, expected 0.38", d.Own)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, expected %v", got, c.want)
			}
		})
	}
}

// TestHealthy: of equal units few are found to differ, over all quantities: no more than the
// level of the whole family.
func TestHealthy(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const draws = 400
	found := 0
	for range draws {
		var j Job
		var units []Unit
		for gpu := range 8 {
			u := Unit{"h2", gpu}
			units = append(units, u)
			for _, q := range []health.Quantity{health.SMClock, health.Temperature, health.Power, health.Throttled} {
				s := health.Series{Quantity: q}
				at := map[health.Quantity]float64{health.SMClock: 1700 + 80*rng.NormFloat64(), health.Temperature: 60 + 6*rng.NormFloat64(),
					health.Power: 400 + 40*rng.NormFloat64(), health.Throttled: 0.2 * rng.Float64()}[q]
				for i := range 20 {
					s.Readings = append(s.Readings, health.Reading{At: int64(1000+i) * 1e9, Value: at})
				}
				j.Add(u, &s)
			}
		}
		if unusual, _ := j.Differences(Question{Units: units[:1], Peers: units}); len(unusual) > 0 {
			found++
		}
	}
	if found > 12 { // 4 are expected at most; 12 is beyond a chance of 1 in 1000
		t.Errorf("%d of %d equal jobs have a difference, expected %.0f at most", found, draws, gates.Strong*draws)
	}
}

// TestShortTimes: a step shorter than the distance of readings has those beside it.
func TestShortTimes(t *testing.T) {
	j, units := job(health.SMClock, func(gpu, _ int) float64 { return float64(1755 - 750*(1-min(1, (gpu-3)*(gpu-3)))) })
	unusual, _ := j.Differences(Question{Units: units[3:4], Peers: units, Times: []Interval{{1050e9 + 1, 1050e9 + 2}}})
	if len(unusual) != 1 || unusual[0].Readings != 3 {
		t.Errorf("%+v, expected one difference, of 3 readings", unusual)
	}
}
