#!/bin/sh
# Draws the figures of the handbook anew: docs/figures/generate.sh
#
# Figures of operator traces are of the simulated job that the pages of ks and
# zscore show, that of arrival skew and those of NCCL
# are of the jobs of arrivals and comm; the others are of campaigns. workers.csv and lengths.csv are measured: their figures
# are drawn from them, and "-measure" measures anew, which takes minutes.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$work:$PATH
go build -o "$work/sfstat" ./cmd/sfstat
to=docs/figures

# measured COLUMN PACKAGE BENCHMARK: what campaign report reads, of benchmarks called
# SERIES/COLUMN=SIZE: median, least and most seconds of five.
measured() {
	go test "$2" -run '^$' -bench "$3" -benchtime 1x -count 5 | awk -v column="$1" '
		BEGIN { print "series," column ",value,lower,upper,n" }
		/^Benchmark.*ns\/op/ {
			sub(/-[0-9]+$/, "", $1)
			if (!($1 in n)) names[++kinds] = $1
			for (i = ++n[$1]; i > 1 && took[$1, i - 1] > $3; i--) took[$1, i] = took[$1, i - 1]
			took[$1, i] = $3
		}
		END {
			for (k = 1; k <= kinds; k++) {
				name = names[k]; many = n[name]
				split(name, part, "/"); gsub("_", " ", part[2]); sub(/.*=/, "", part[3])
				printf "%s,%s,%.4g,%.4g,%.4g,%d\n", part[2], part[3], took[name, int((many + 1) / 2)] / 1e9, took[name, 1] / 1e9, took[name, many] / 1e9, many
			}
		}'
}

sfstat simulate --operators --layout 4x2 --steps 8 --microbatches 4 --seed 3 --fault slow-worker,dp=2,pp=1,factor=1.8 \
	--run slow -o "$work/runs" -q
sfstat ks "$work/runs/trace-slow.parquet" --independent --plot $to/distances.png -o "$work/out"
sfstat zscore "$work/runs/trace-slow.parquet" --independent --plot $to/operator.png -o "$work/out"

sfstat frontier fixtures/ddp/host-callback-r8-s0.jsonl --plot "$work/window.png" -o "$work/out" -q
cp "$work/window-step.png" $to/

sfstat arrivals fixtures/flightrecorder/late --plot $to/skew.png -o "$work/out" -q

sfstat comm fixtures/comm/run --plots "$work/comm" -o "$work/out" -q
cp "$work/comm/sizes.png" $to/messages.png
cp "$work/comm/bandwidth.png" $to/bus.png
cp "$work/comm/communicators.png" "$work/comm/timeline.png" $to/

for name in paper detectability power; do
	sfstat campaign run eval/campaign/specs/$name.yaml -o "$work/$name" -q
done
mkdir "$work/paper/measured"
if [ "${1:-}" = -measure ]; then
	measured workers ./engine/ks '^BenchmarkAnalyze$' >$to/workers.csv
	measured operations ./engine/comm/needleman '^BenchmarkSolve$/^lost=0\.[0-9]+$' >$to/lengths.csv
fi
cp $to/workers.csv "$work/paper/measured/time-by-workers.csv"
cp $to/lengths.csv "$work/paper/measured/alignment-by-length.csv"
sfstat campaign report "$work/paper" --figure-format png,svg --figure-width column -q
sfstat campaign report "$work/detectability" -q
sfstat campaign report "$work/power" -q
cp "$work/paper/figures/figure-3a.png" $to/
cp "$work/paper/figures/time-by-workers.png" $to/workers.png
cp "$work/paper/figures/alignment-by-length.png" $to/lengths.png
cp "$work/paper/figures/figure-3b-e3-curve-r8.svg" $to/figure-3b.svg
cp "$work/detectability/figures/detectability-detectability-r8.svg" $to/detectability.svg
cp "$work/power/figures/sizes-power-data.svg" $to/power.svg
