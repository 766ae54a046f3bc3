package export

// KernelRow is a kernel with what tells one of NCCL's from another, and how it
// was launched; what the file lacks is Absent.
type KernelRow struct {
	Activity
	Grid, GridY, GridZ          int64 // blocks
	Block, BlockY, BlockZ       int64 // threads of one
	Registers                   int64 // of a thread
	StaticShared, DynamicShared int64 // bytes of a block
	Local                       int64 // bytes of local memory, in all
}

// Kernels calls each with every kernel, in the order of the file; the value is
// reused.
func (f *File) Kernels(each func(*KernelRow) error) error {
	var k KernelRow
	return f.scan(kernelTable, append(k.columns(f), column{name: "start", num: &k.Start},
		column{name: "gridX", num: &k.Grid}, column{name: "gridY", num: &k.GridY}, column{name: "gridZ", num: &k.GridZ},
		column{name: "blockX", num: &k.Block}, column{name: "blockY", num: &k.BlockY}, column{name: "blockZ", num: &k.BlockZ},
		column{name: "registersPerThread", num: &k.Registers}, column{name: "staticSharedMemory", num: &k.StaticShared},
		column{name: "dynamicSharedMemory", num: &k.DynamicShared}, column{name: "localMemoryTotal", num: &k.Local},
	), func() error { return each(&k) })
}

// Calls calls each with every call of the CUDA runtime or driver, in the order of
// the file; the value is reused.
func (f *File) Calls(each func(*Call) error) error {
	var c Call
	return f.scan(runtimeTable, append(c.columns(), column{name: "start", num: &c.Start}), func() error { return each(&c) })
}

// GPUs calls each with every GPU that the file lists, and where it is: "0000:c1:00.0".
func (f *File) GPUs(each func(id int64, bus string) error) error {
	var id int64
	var bus string
	return f.scan(gpuTable, []column{{name: "id", num: &id}, {name: "busLocation", text: &bus}}, func() error { return each(id, bus) })
}
