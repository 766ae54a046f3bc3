package nccl

import "strings"

// KernelName is what the name of a kernel says, and no more: the protocol in
// it is always LL and the reduction always the sum, whatever runs, so neither
// is here. Algo is Tree or Ring only; newer algorithms run under Ring's name.
type KernelName struct {
	Op       Op
	Datatype Datatype // UnknownType where the name has none that can be trusted
	Algo     Algo
}

// ParseKernel reads the demangled or the short name of a kernel of NCCL (2.4 on) or
// RCCL; ok is false for every other kernel. A name of NCCL's making that says
// nothing of the operation gives Generic.
func ParseKernel(name string) (k KernelName, ok bool) {
	name, _, _ = strings.Cut(name, "(")
	if i := strings.LastIndexByte(name, ' '); i >= 0 {
		name = name[i+1:] // a return type or qualifiers
	}
	k.Datatype = UnknownType
	for _, prefix := range [...]string{"ncclDevKernel_", "ncclSymkDevKernel_", "ncclSymDevKernel_", "ncclDevKernelDebug_", "ncclKernel_"} {
		if rest, found := strings.CutPrefix(name, prefix); found {
			k.parts(strings.Split(rest, "_"))
			return k, true
		}
	}
	if strings.HasPrefix(name, "mscclKernel_") {
		k.Op = Generic
		return k, true
	}
	return k.oldest(name)
}

// parts reads "AllReduce", "Sum", "f16", "RING", "LL" in that order, of which
// only the first is always there.
func (k *KernelName) parts(words []string) {
	if k.Op = ParseOp(words[0]); k.Op == UnknownOp {
		k.Op = Generic
		return
	}
	for _, w := range words[1:] {
		if a := ParseAlgo(w); a != UnknownAlgo {
			k.Algo = a
		}
		if d, known := kernelTypes[w]; known {
			k.Datatype = d
		}
	}
	if !k.Op.Reduces() { // all run as int8, or so they were called until 2.18
		k.Datatype = UnknownType
	}
}

// oldest reads names of 2.4 to 2.7: ncclAllReduceRingLLKernel_sum_f32.
func (k KernelName) oldest(name string) (KernelName, bool) {
	rest, found := strings.CutPrefix(name, "nccl")
	head, tail, cut := strings.Cut(rest, "Kernel_")
	if !found || !cut {
		return KernelName{}, false
	}
	for _, a := range [...]struct {
		word string
		algo Algo
	}{{"Ring", Ring}, {"Tree", Tree}, {"CollNet", CollNetDirect}, {"", UnknownAlgo}} {
		if op, _, found := strings.Cut(head, a.word); found && a.word != "" && ParseOp(op) != UnknownOp {
			k.Op, k.Algo = ParseOp(op), a.algo
		}
	}
	if k.Op == UnknownOp {
		k.Op = ParseOp(head)
	}
	if k.Op == UnknownOp {
		return KernelName{}, false
	}
	if i := strings.IndexByte(tail, '_'); i >= 0 && k.Op.Reduces() {
		if d, known := kernelTypes[tail[i+1:]]; known {
			k.Datatype = d
		}
	}
	return k, true
}

// kernelTypes are the element types in names of any age.
var kernelTypes = map[string]Datatype{
	"i8": Int8, "int8": Int8, "u8": Uint8, "uint8": Uint8, "i32": Int32, "int32": Int32, "u32": Uint32, "uint32": Uint32,
	"i64": Int64, "int64": Int64, "u64": Uint64, "uint64": Uint64, "f16": Float16, "half": Float16, "f32": Float32, "float": Float32,
	"f64": Float64, "double": Float64, "bf16": Bfloat16, "bfloat16": Bfloat16, "f8e4m3": Float8E4M3, "f8e5m2": Float8E5M2,
}
