// Package bench holds the measurements that cross packages: what a command
// spends where, from a file on disk to a verdict. Engines and readers have
// their own benchmarks beside their code.
//
//	go test -run '^$' -bench . ./bench
//
// bench/device/check.py runs real jobs on a GPU and tells what sfstat says of them.
//
// eval/accuracy measures not time but how often a verdict is right; bench/overhead
// what the recorder costs a real job, by the arms of a campaign; bench/archives what
// sfstat batch takes for 100,000 windows.
package bench
