package export

// KernelRow is a kernel with what tells one of NCCL's from another. Times are
// nanoseconds since the start of the session; what the file lacks is Absent.
type KernelRow struct {
	Start, End  int64
	Device      int64 // CUDA index in its process
	Stream      int64
	Correlation int64 // of the launch, in its process
	Process     ProcessID
	Name        int64 // in StringIds: demangled, or else short
	GraphNode   int64 // of a CUDA graph that launched it
	Grid, Block int64 // blocks and threads of a block, in x

	KernelConfig // of [File.Kernels]
}

// KernelConfig is how a kernel was launched, what [KernelRow] does not have; what the file lacks is Absent.
type KernelConfig struct {
	GridY, GridZ, BlockY, BlockZ int64
	Registers                    int64 // of a thread
	StaticShared, DynamicShared  int64 // bytes of a block
	Local                        int64 // bytes of local memory, in all
}

// Kernels calls each with every kernel, in the order of the file, with how it was
// launched; the value is reused.
func (f *File) Kernels(each func(*KernelRow) error) error {
	var k KernelRow
	return f.scan(kernelTable, append(f.kernelColumns(&k),
		column{name: "gridY", num: &k.GridY}, column{name: "gridZ", num: &k.GridZ}, column{name: "blockY", num: &k.BlockY}, column{name: "blockZ", num: &k.BlockZ},
		column{name: "registersPerThread", num: &k.Registers}, column{name: "staticSharedMemory", num: &k.StaticShared},
		column{name: "dynamicSharedMemory", num: &k.DynamicShared}, column{name: "localMemoryTotal", num: &k.Local},
	), "", func() error { return each(&k) })
}

func (f *File) kernelColumns(k *KernelRow) []column {
	name := "demangledName"
	if !f.Has(kernelTable, name) {
		name = "shortName"
	}
	return []column{
		{name: "start", num: &k.Start}, {name: "end", num: &k.End}, {name: "deviceId", num: &k.Device}, {name: "streamId", num: &k.Stream},
		{name: "correlationId", num: &k.Correlation}, {name: "globalPid", num: (*int64)(&k.Process)}, {name: name, num: &k.Name},
		{name: "graphNodeId", num: &k.GraphNode}, {name: "gridX", num: &k.Grid}, {name: "blockX", num: &k.Block},
	}
}

// Calls calls each with every call of the CUDA runtime or driver, in the order of
// the file; the value is reused.
func (f *File) Calls(each func(*Call) error) error {
	var c Call
	return f.scan(runtimeTable, []column{{name: "start", num: &c.Start}, {name: "globalTid", num: (*int64)(&c.Thread)},
		{name: "correlationId", num: &c.Correlation}, {name: "nameId", num: &c.Name}}, "", func() error { return each(&c) })
}

// GPU is a GPU of the host.
type GPU struct {
	ID   int64
	Name string
	Bus  string // "0000:c1:00.0"
}

// GPUs calls each with every GPU that the file lists.
func (f *File) GPUs(each func(GPU) error) error {
	var g GPU
	return f.scan(gpuTable, []column{{name: "id", num: &g.ID}, {name: "name", text: &g.Name}, {name: "busLocation", text: &g.Bus}}, "",
		func() error { return each(g) })
}
