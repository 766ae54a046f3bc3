#!/bin/sh
# Writes the generated parts of docs/evaluation.md and docs/selfcheck.md anew.
#
#	docs/generate.sh [PAGE...]
#
# In a page, everything between "<!-- run: COMMAND -->" and "<!-- end -->" is
# the command and what it prints. Commands see
#
#	REAL  recordings of real jobs with known faults, and their truth.csv:
#	      ddp/ in the folder of SFSTAT_SHARED (default ../shared, in data/)
#	SIM   a simulated campaign, made here
#	EVAL  folders of the campaigns paper, detectability and nofault,
#	      with their tables
#
# A part whose input is not there stays as it is, and that is said.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$work:$PATH
go build -o "$work/sfstat" ./cmd/sfstat

export REAL="${SFSTAT_SHARED:-../shared}/data/ddp" SIM="$work/sim" EVAL="$work/eval"

# simulate FAMILY RANKS SEED DELAY EVERY: one run of 120 steps. Where the fault
# strikes in every tenth step, it is ten times as long: the same time is lost on
# average.
simulate() {
	delay=$(($4 * $5))
	sfstat simulate --fault "$1" --ranks "$2" --seed "$3" --delay $delay --every "$5" \
		--run "$1-r$2-s$3-${delay}ms-every$5" --to parquet -o "$SIM/" -q
}

campaign() {
	mkdir "$SIM"
	for ranks in 8 32 128; do
		for seed in 0 1 2 3 4; do
			for family in data backward backward_comm forward_device forward_host callback_sync callback_host optimizer_host; do
				for delay in 12 30 60 120; do
					simulate $family $ranks $seed $delay 1
					simulate $family $ranks $seed $delay 10
				done
			done
		done
		for seed in $(seq 100 139); do
			sfstat simulate --ranks $ranks --seed "$seed" --to parquet -o "$SIM/" -q
		done
	done
}

evaluation() {
	mkdir "$EVAL"
	for spec in paper detectability nofault; do
		sfstat campaign run "eval/campaign/specs/$spec.yaml" -o "$EVAL/$spec" -q
		[ $spec != paper ] || cp -r fixtures/real/e9 "$EVAL/paper/sources"
		sfstat campaign report "$EVAL/$spec" -q
	done
}

# part COMMAND OLD: the new content of one part, or the old where an input is
# missing.
part() {
	case $1 in
	*'$SIM'*) [ -d "$SIM" ] || campaign ;;
	*'$EVAL'*) [ -d "$EVAL" ] || evaluation ;;
	*'$REAL'*) [ -f "$REAL/truth.csv" ] || {
		echo "not generated, $REAL is not there: $1" >&2
		cat "$2"
		return
	} ;;
	esac
	printf '\n```sh\n%s\n```\n\n' "$(echo "$1" | sed 's/ --format md//')"
	sh -c "$1" | sed 's/^###* \(.*\)/**\1**/'
	printf '\n'
}

[ $# -gt 0 ] || set -- docs/selfcheck.md docs/evaluation.md
for page; do
	: >"$work/new"
	inside=
	while IFS= read -r line; do
		case $line in
		'<!-- run: '*)
			inside=${line#<!-- run: }
			inside=${inside% -->}
			: >"$work/old"
			printf '%s\n' "$line" >>"$work/new"
			;;
		'<!-- end -->')
			part "$inside" "$work/old" >>"$work/new" </dev/null
			inside=
			printf '%s\n' "$line" >>"$work/new"
			;;
		*)
			if [ -n "$inside" ]; then
				printf '%s\n' "$line" >>"$work/old"
			else
				printf '%s\n' "$line" >>"$work/new"
			fi
			;;
		esac
	done <"$page"
	cp "$work/new" "$page"
	echo "$page"
done
