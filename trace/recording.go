package trace

// Recording is what one source recorded of a run: its stage times (*Window, and
// ProfiledWindow where a profiler recorded steps that a recorder timed), its
// operators one by one (*operator.Trace) or summed by the stage that launched them
// (*operator.Totals), how its devices spent the steps (*DeviceTimes), or its communication
// (*comms.Record); or what monitoring recorded at the time (*health.Record). Who reads a new
// kind of source makes it one of these.
type Recording interface {
	// RunName is the run that it is of. Recordings of one name are of one run;
	// telemetry is of none, and its name "".
	RunName() string
}

// ProfiledWindow is a window that a profiler's traces come down to, of steps that a
// recorder timed too: a second account of them, whose stages may have other names.
type ProfiledWindow struct{ *Window }

// RunName implements Recording.
func (w *Window) RunName() string { return w.Run }
