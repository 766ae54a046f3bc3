package delay

import "fmt"

// Validate reports the first field of a run that does not fit the others, with what it holds and what is expected.
func (r *Run) Validate() error {
	if err := r.Steps.Validate(); err != nil {
		return err
	}
	if r.Peers != nil && len(r.Peers) != r.Ranks {
		return fmt.Errorf("delay: Peers has %d values, expected the set of each of %d ranks, or nil", len(r.Peers), r.Ranks)
	}
	for rank, set := range r.Peers {
		if set < 0 || set >= r.Ranks {
			return fmt.Errorf("delay: Peers of rank %d is %d, expected a set from 0 to %d", rank, set, r.Ranks-1)
		}
	}
	if r.Hosts != nil && len(r.Hosts) != r.Ranks {
		return fmt.Errorf("delay: Hosts has %d values, expected the host of each of %d ranks, or nil", len(r.Hosts), r.Ranks)
	}
	for rank, host := range r.Hosts {
		if host < -1 {
			return fmt.Errorf("delay: Hosts of rank %d is %d, expected a host from 0 on, or -1 where it is not known", rank, host)
		}
	}
	return nil
}

// Validate reports the first option that means nothing; zero is the default. The comparisons are written so that NaN fails them.
func (o Options) Validate() error {
	for _, f := range []struct {
		name string
		x    float64
	}{{"MinGain", o.MinGain}, {"Level", o.Level}, {"Strong", o.Strong}} {
		if !(f.x >= 0 && f.x < 1) {
			return fmt.Errorf("delay: Options.%s is %v, expected above 0 and below 1, or 0 for the default", f.name, f.x)
		}
	}
	if d := o.fillDefaults(); d.Strong > d.Level {
		return fmt.Errorf("delay: Options.Strong is %v, expected at most Level, which is %v", d.Strong, d.Level)
	}
	if o.Limits > NoLimits {
		return fmt.Errorf("delay: Options.Limits is %d, expected AllLimits, SeenLimits or NoLimits", o.Limits)
	}
	return o.Points.Validate()
}
