package profile

import "slices"

// CopyOf reports whether r and o are one recording: their steps have the same stamps on the host and on the device, all of them. No two
// ranks do all at the same nanosecond. Recordings without steps are none's copy.
func (r *Rank) CopyOf(o *Rank) bool {
	return len(r.Steps) > 0 && r.Host == o.Host && r.Base == o.Base && slices.EqualFunc(r.Steps, o.Steps, func(a, b Step) bool {
		return a.Index == b.Index && a.Start == b.Start && a.End == b.End && slices.Equal(a.Spans, b.Spans) &&
			(a.Time == nil) == (b.Time == nil) && (a.Time == nil || *a.Time == *b.Time)
	})
}
