package export

// Session is what the file says of the recording as a whole.
type Session struct {
	Host    string // "" when not recorded
	Epoch   int64  // nanoseconds UTC at which the session's times are 0, or Absent
	Product string // version of Nsight Systems, ""
	Schema  string // version of the tables, ""
}

// Session reads it.
func (f *File) Session() (Session, error) {
	s := Session{Epoch: Absent}
	var epoch int64
	err := f.scan(sessionTable, []column{{name: "utcEpochNs", num: &epoch}}, "", func() error {
		if s.Epoch == Absent && epoch > 0 {
			s.Epoch = epoch
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	var name, value string
	pair := []column{{name: "name", text: &name}, {name: "value", text: &value}}
	if err := f.scan(systemTable, pair, "", func() error {
		if name == "Hostname" && s.Host == "" {
			s.Host = value
		}
		return nil
	}); err != nil {
		return s, err
	}
	return s, f.scan(metaTable, pair, "", func() error {
		switch name {
		case "EXPORT_PRODUCT_VERSION":
			s.Product = value
		case "EXPORT_SCHEMA_VERSION":
			s.Schema = value
		}
		return nil
	})
}

// Processes calls each with the processes that the file names; old files name
// none.
func (f *File) Processes(each func(id ProcessID, name string) error) error {
	var id int64
	var name string
	return f.scan(processTable, []column{{name: "globalPid", num: &id}, {name: "name", text: &name}}, "",
		func() error { return each(ProcessID(id), name) })
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
	return f.scan(deviceTable, []column{{name: "pid", num: &d.PID}, {name: "cudaId", num: &d.CUDA}, {name: "gpuId", num: &d.GPU}}, "",
		func() error { return each(d) })
}
