#!/bin/bash
# Writes a line on what made a job slow into its AdminComment, when it has ended:
#
#	EpilogSlurmctld=/etc/slurm/epilog.sh         in slurm.conf
#	sacct -j ID -o AdminComment%200              what it wrote
#
# Jobs leave their recordings in sfstat/JOBID below the folder that they were submitted from, which
# the controller's host sees too: python -m sfstat_recorder -o "sfstat/$SLURM_JOB_ID" train.py …
# Nothing is drained and no job is ended: that a host is slow in many jobs says `sfstat batch`.
set -uo pipefail
folder=${SLURM_JOB_WORK_DIR:-}/sfstat/$SLURM_JOB_ID
[ -d "$folder" ] || exit 0
verdict=$(timeout "${SFSTAT_SECONDS:-120}" sfstat diagnose --quiet --format json --fail-on strong "$folder" 2>/dev/null)
code=$?
case $code in
0 | 3) # 3: a strong finding
	line=$(sed -n 's/^ *"headline": "\(.*\)",$/\1/p' <<<"$verdict" | head -n 1)
	[ $code -eq 3 ] && line="STRAGGLER $line"
	;;
124) line="its recordings took too long to read: $folder" ;;
*) line="its recordings could not be read: sfstat diagnose $folder" ;;
esac
# The controller takes no changes of a job that has ended; the accounting does.
sacctmgr --immediate update job where "jobid=$SLURM_JOB_ID" set AdminComment="sfstat: $line"
exit 0 # whatever it was, the job has ended
