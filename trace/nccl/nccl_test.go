package nccl

import "testing"

func TestParseKernel(t *testing.T) {
	tests := []struct {
		name string
		want KernelName
		ok   bool
	}{
		{"ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", KernelName{AllReduce, Float32, Tree}, true},
		{"ncclDevKernel_AllGather_RING_LL(ncclDevComm *, unsigned long, ncclWork *)", KernelName{AllGather, UnknownType, Ring}, true},
		{"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", KernelName{SendRecv, UnknownType, UnknownAlgo}, true},
		{"void ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", KernelName{ReduceScatter, Bfloat16, Ring}, true},
		{"ncclDevKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)", KernelName{Generic, UnknownType, UnknownAlgo}, true},
		{"ncclDevKernelDebug_Generic(x)", KernelName{Generic, UnknownType, UnknownAlgo}, true},
		{"ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f16(ncclSymkDevWorkArgs*)", KernelName{AllReduce, Float16, UnknownAlgo}, true},
		{"ncclSymkDevKernel_AllGather_LL", KernelName{AllGather, UnknownType, UnknownAlgo}, true},
		{"ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*, unsigned long, ncclWork*)", KernelName{AllReduce, Float16, Ring}, true},
		{"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", KernelName{AllGather, UnknownType, Ring}, true},
		{"ncclKernel_AllReduce_TREE_LL_Sum_uint8_t(ncclWorkElem)", KernelName{AllReduce, Uint8, Tree}, true},
		{"ncclKernel_AllReduce_TREE_LL_Sum___nv_bfloat16(ncclWorkElem)", KernelName{AllReduce, Bfloat16, Tree}, true},
		{"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", KernelName{AllReduce, Float32, Ring}, true},
		{"ncclAllReduceTreeLLKernel_sum_i64(ncclColl)", KernelName{AllReduce, Int64, Tree}, true},
		{"ncclAllGatherRingLLKernel_copy_i8(ncclColl)", KernelName{AllGather, UnknownType, Ring}, true},
		{"ncclSendRecvKernel_copy_i8(ncclColl)", KernelName{SendRecv, UnknownType, UnknownAlgo}, true},
		{"mscclKernel_Sum_half_Simple_1", KernelName{Generic, UnknownType, UnknownAlgo}, true},
		{"oneRankReduce<FuncPreMulSum<float>>", KernelName{}, false},
		{"ncclKernel", KernelName{}, false},
		{"void at::native::vectorized_elementwise_kernel<4>(int)", KernelName{}, false},
		{"", KernelName{}, false},
	}
	for _, tt := range tests {
		got, ok := ParseKernel(tt.name)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: got %+v %v, want %+v %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// The names come back as they are written, and numbers as NCCL numbers them.
func TestNames(t *testing.T) {
	for o := AllGather; o < Barrier; o++ {
		if got := ParseOp(o.String()); got != o {
			t.Errorf("%s reads as %s", o, got)
		}
	}
	for n, want := range []Algo{Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT, UnknownAlgo} {
		if got := AlgoNumber(int64(n)); got != want {
			t.Errorf("algorithm %d is %s, want %s", n, got, want)
		}
	}
	for n, want := range []Protocol{LL, LL128, Simple, UnknownProtocol} {
		if got := ProtocolNumber(int64(n)); got != want {
			t.Errorf("protocol %d is %s, want %s", n, got, want)
		}
	}
	for d, want := range map[Datatype]int64{Int8: 1, Int64: 8, Float16: 2, Bfloat16: 2, Float8E5M2: 1, UnknownType: 0, 12: 0} {
		if d.Size() != want {
			t.Errorf("%s has %d bytes, want %d", d, d.Size(), want)
		}
	}
	if AlgoNumber(-1) != UnknownAlgo || ProtocolNumber(-1) != UnknownProtocol {
		t.Error("a negative number has a name")
	}
}
