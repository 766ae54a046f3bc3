package nccl

// Benchmark is how fast nccl-tests moved data by one operation at one size.
type Benchmark struct {
	Op    Op // SendRecv: every rank sends to the next one and receives from the one before
	Ranks int
	Hosts int
	Bytes int64   // size as nccl-tests counts it: of AllGather, ReduceScatter, AlltoAll, Gather and Scatter of all ranks
	Bus   float64 // bus bandwidth, GB/s of 10⁹ bytes
}
