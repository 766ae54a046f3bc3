#!/bin/sh
# Draws the figures of the handbook anew: docs/figures/generate.sh
#
# Figures of operator traces are of the simulated job that the pages of ks and
# zscore show.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$work:$PATH
go build -o "$work/sfstat" ./cmd/sfstat
to=docs/figures

sfstat simulate-ops --layout 4x2 --steps 8 --microbatches 4 --seed 3 --fault slow-worker,dp=2,pp=1,factor=1.8 \
	--run slow -o "$work/runs" -q
sfstat ks "$work/runs/trace-slow.parquet" --plot $to/rhythm.png -o "$work/out"
sfstat zscore "$work/runs/trace-slow.parquet" --plot $to/operator.png -o "$work/out"
