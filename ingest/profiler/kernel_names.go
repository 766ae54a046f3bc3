package profiler

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/nccl"
)

// Kind is the part that device work plays.
type Kind uint8

const (
	Compute Kind = iota
	Communication
	Memory
	kinds
)

// communicating are the beginnings of kernel names that communicate: NCCL of
// every age, RCCL (which keeps NCCL's names) and MSCCL.
var communicating = []string{"nccl", "rccl", "mscclKernel", "mscclpp"}

// communicatingInside are parts of the names of kernels that communicate
// without a library of that name: custom all-reduce of vLLM, SGLang and
// TensorRT-LLM, symmetric memory, NVSHMEM, DeepEP.
var communicatingInside = []string{"cross_device_reduce", "two_shot_all_reduce", "one_shot_all_reduce", "two_shot_allreduce",
	"multimem_all_reduce", "multimem_one_shot", "allreduce_fusion", "quick_all_reduce", "aiter::allreduce", "nvshmem",
	"deep_ep::", "lamport", "oneShotAllReduce", "twoShotAllReduce", "oneRankReduce", "userbuffers_fp16_sum", "all_gather_p2p"}

// collectiveWords are what collectives and transfers between GPUs are called, with and without underscores; libraries for
// experts tell transfers within a node from those between nodes.
var collectiveWords = []string{"allreduce", "allgather", "reducescatter", "alltoall", "all2all", "internode", "intranode"}

// namesCollective reports whether the name of a function, with its namespaces and without the types it is made for, has
// such a word.
func namesCollective(function string) bool {
	function, _, _ = strings.Cut(function, "<")
	function = strings.ToLower(strings.ReplaceAll(function, "_", ""))
	for _, w := range collectiveWords {
		if strings.Contains(function, w) {
			return true
		}
	}
	return false
}

// communicationWords are what programs call parts of a step in which they communicate and do nothing else.
var communicationWords = []string{"communication", "communicate", "comm", "comms", "allreduce", "allgather", "reducescatter", "alltoall", "all2all"}

// AnnotatesCommunication reports whether a range of the host with this name, an operator of another library than torch.distributed
// or an annotation of the program, is a collective and nothing besides: "vllm::all_reduce", "symm_mem::multimem_all_reduce_",
// "AllGather". One that computes as well says so: "symm_mem::fused_all_gather_matmul".
func AnnotatesCommunication(name string) bool {
	if len(name) > 80 {
		return false
	}
	if at := strings.LastIndex(name, "::"); at >= 0 {
		name = name[at+2:]
	}
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	for _, way := range [...]string{"multimem", "oneshot", "twoshot", "tensormodelparallel"} {
		name = strings.TrimPrefix(name, way)
	}
	for _, form := range [...]string{"intotensor", "tensor", "single", "coalesced", "base", "out", "v"} {
		name = strings.TrimSuffix(name, form)
	}
	return slices.Contains(communicationWords, name)
}

// kindOfKernel finds by its name whether a kernel communicates: by that of a library, or of what it does.
func kindOfKernel(name string) Kind {
	name = strings.TrimPrefix(name, "void ")
	for _, p := range communicating {
		if strings.HasPrefix(name, p) {
			return Communication
		}
	}
	head := nccl.Function(name)
	for _, p := range communicatingInside {
		if strings.Contains(head, p) {
			return Communication
		}
	}
	if namesCollective(head) {
		return Communication
	}
	return Compute
}

// BytesOf returns the size of an element by the name of its type, as c10 or NCCL
// writes it; 0: not known.
func BytesOf(dtype string) int64 {
	switch strings.ToLower(strings.TrimPrefix(dtype, "c10::")) {
	case "float", "float32", "int", "int32", "uint32", "f32":
		return 4
	case "double", "float64", "long", "long int", "int64", "uint64", "complexfloat", "f64":
		return 8
	case "half", "float16", "bfloat16", "short", "int16", "uint16", "f16", "bf16":
		return 2
	case "byte", "char", "unsigned char", "signed char", "int8", "uint8", "bool", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz":
		return 1
	case "complexdouble":
		return 16
	}
	return 0
}
