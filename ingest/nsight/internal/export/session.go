package export

// Session is what the file says of the recording as a whole.
type Session struct {
	Host  string // "" when not recorded
	Epoch int64  // nanoseconds UTC at which the session's times are 0, or Absent
}

// Session reads it.
func (f *File) Session() (Session, error) {
	s := Session{Epoch: Absent}
	var epoch int64
	err := f.scan(sessionTable, []column{{name: "utcEpochNs", num: &epoch}}, func() error {
		if s.Epoch == Absent && epoch > 0 {
			s.Epoch = epoch
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	var name, value string
	return s, f.scan(systemTable, []column{{name: "name", text: &name}, {name: "value", text: &value}}, func() error {
		if name == "Hostname" && s.Host == "" {
			s.Host = value
		}
		return nil
	})
}

// Device says which GPU of the host a process calls by a CUDA index; the two
// differ where CUDA_VISIBLE_DEVICES is set.
type Device struct {
	PID  int64 // in the profiler's PID namespace
	CUDA int64
	GPU  int64
}

// Devices calls each with every CUDA device of every process.
func (f *File) Devices(each func(Device) error) error {
	var d Device
	return f.scan(deviceTable, []column{{name: "pid", num: &d.PID}, {name: "cudaId", num: &d.CUDA}, {name: "gpuId", num: &d.GPU}},
		func() error { return each(d) })
}
