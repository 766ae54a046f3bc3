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

sfstat simulate-ops --layout 4x2 --steps 8 --microbatches 4 --seed 3 --fault slow-worker,dp=2,pp=1,factor=1.8 \
	--run slow -o "$work/runs" -q
sfstat ks "$work/runs/trace-slow.parquet" --plot $to/distances.png -o "$work/out"
sfstat zscore "$work/runs/trace-slow.parquet" --plot $to/operator.png -o "$work/out"

sfstat frontier fixtures/ddp/host-callback-r8-s0.jsonl --plot "$work/window.png" -o "$work/out" -q
cp "$work/window-step.png" $to/

sfstat arrivals fixtures/flightrecorder/late --plot $to/skew.png -o "$work/out" -q

sfstat comm fixtures/comm/run --plots "$work/comm" -o "$work/out" -q
cp "$work/comm/sizes.png" $to/messages.png
cp "$work/comm/bandwidth.png" $to/bus.png
cp "$work/comm/communicators.png" "$work/comm/timeline.png" $to/

for name in paper detectability; do
	sfstat campaign run eval/campaign/specs/$name.yaml -o "$work/$name" -q
done
mkdir "$work/paper/measured"
if [ "${1:-}" = -measure ]; then
	go run ./eval/runtimes -kind time-by-workers -o $to/workers.csv
	go run ./eval/runtimes -kind alignment-by-length -o $to/lengths.csv -most 16000 -times 5
fi
cp $to/workers.csv "$work/paper/measured/time-by-workers.csv"
cp $to/lengths.csv "$work/paper/measured/alignment-by-length.csv"
sfstat campaign plots "$work/paper" --format png,svg -o "$work/drawn" -q
sfstat campaign plots "$work/detectability" --format png,svg --width page -o "$work/drawn" -q
cp "$work/drawn/figure-3a.png" $to/
cp "$work/drawn/time-by-workers.png" $to/workers.png
cp "$work/drawn/alignment-by-length.png" $to/lengths.png
cp "$work/drawn/figure-3b-e3-curve-r8.svg" $to/figure-3b.svg
cp "$work/drawn/detectability-detectability-r8.svg" $to/detectability.svg
