// Package align pairs the calls that a log names with the kernels that a trace holds, in order, where either side lacks some. The
// optimum is by package needleman, over the evidence of each pair in tenths of a nat. [Plan] says which kernels NCCL launches for the calls
// of a process: calls of one group share one, and some launch none.
//
// [ByThesis] and [BySliding] pair as published before, and are what [Calls] is held against.
//
// # Without clocks
//
// Where neither stamps nor starts tell, many alignments score the same. [Calls] then aligns again by
// when kernels start: the pairs so far give the usual gaps between starts, and pairs that are sure the moment from which these count.
//
// # What the numbers rest on
//
// The weights of evidence and the limits of the searches are set by hand. Generated logs and traces of known truth hold all of them
// together: go test ./eval/campaign/communication/scenarios -run 'TestTable|TestLossy' -v prints the F1 of each scenario, and fails
// where more than one in a thousand of the pairs that are called certain is wrong.
package align
