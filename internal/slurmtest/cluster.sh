#!/usr/bin/env bash
# A cluster of this one machine, for tests: munged, slurmctld and slurmd with
# everything they write below one folder. It needs the Debian packages
# slurmctld, slurmd, slurm-client and munge, no cgroups and no systemd; with
# AccountingStorageType=accounting_storage/slurmdbd among the lines also
# slurmdbd and mariadb-server.
#
#	cluster.sh DIR [LINES OF slurm.conf...]
#
# Prints "ready" when a job has run and others can be submitted with
# SLURM_CONF=DIR/slurm.conf, and ends, with all it has started, when standard
# input does.
set -euo pipefail
dir=$(mkdir -p "$1" && cd "$1" && pwd)
PATH=$PATH:/usr/sbin:/sbin
export SLURM_CONF=$dir/slurm.conf
host=$(hostname -s)
user=$(id -un)
pids=()

stop() {
	trap - EXIT
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
	wait || true
}
trap stop EXIT
trap 'exit 143' TERM INT

# port is one that is free now.
port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# accounting starts slurmdbd and the database behind it: what is known of a job after its end is there.
accounting() {
	mariadb-install-db --no-defaults --user="$user" --datadir="$dir/database" --auth-root-authentication-method=normal \
		--skip-test-db >"$dir/database.out" 2>&1
	mariadbd --no-defaults --user="$user" --datadir="$dir/database" --socket="$sockets/database" --skip-networking \
		--innodb-buffer-pool-size=64M >>"$dir/database.out" 2>&1 &
	pids+=($!)
	for _ in $(seq 300); do [ -S "$sockets/database" ] && break; sleep 0.1; done
	local port
	port=$(port)
	cat >"$dir/slurmdbd.conf" <<-CONF
		AuthType=auth/munge
		AuthInfo=socket=$sockets/munge
		DbdHost=localhost
		DbdPort=$port
		SlurmUser=$user
		LogFile=$dir/slurmdbd.log
		PidFile=$dir/slurmdbd.pid
		StorageType=accounting_storage/mysql
		StorageUser=root
		StorageHost=localhost
	CONF
	chmod 600 "$dir/slurmdbd.conf"
	printf '%s\n' AccountingStorageHost=localhost "AccountingStoragePort=$port" "AccountingStoragePass=$sockets/munge" >>"$SLURM_CONF"
	# The client's library looks for the socket where this says.
	MYSQL_UNIX_PORT=$sockets/database slurmdbd -D >"$dir/slurmdbd.out" 2>&1 &
	pids+=($!)
	for _ in $(seq 300); do sacctmgr --noheader show cluster >/dev/null 2>&1 && return; sleep 0.1; done
}

mkdir -p "$dir/state" "$dir/spool"
chmod 700 "$dir"
head -c 1024 /dev/urandom >"$dir/munge.key"
chmod 600 "$dir/munge.key"
# The path of a socket has at most 107 bytes, which a temporary folder may use
# up.
sockets=$(mktemp -d /tmp/sfstat-slurm-XXXXXX)
trap 'stop; rm -rf "$sockets"' EXIT
chmod 755 "$sockets"
munged --foreground --force --key-file="$dir/munge.key" --socket="$sockets/munge" --pid-file="$dir/munged.pid" \
	--log-file="$dir/munged.log" --seed-file="$dir/munged.seed" >"$dir/munged.out" 2>&1 &
pids+=($!)

cat >"$SLURM_CONF" <<CONF
ClusterName=sfstat
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(port)
SlurmdPort=$(port)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$sockets/munge
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=100000
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=3
NodeName=$host NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=60 State=UP
CONF
[[ "$*" == *AccountingStorageType=* ]] || set -- "$@" AccountingStorageType=accounting_storage/none
printf '%s\n' "${@:2}" >>"$SLURM_CONF"

for _ in $(seq 100); do [ -S "$sockets/munge" ] && break; sleep 0.1; done
if grep -q ^AccountingStorageType=accounting_storage/slurmdbd "$SLURM_CONF"; then
	accounting
fi
slurmctld -D -i >"$dir/slurmctld.out" 2>&1 &
pids+=($!)
slurmd -D -N "$host" >"$dir/slurmd.out" 2>&1 &
pids+=($!)
for _ in $(seq 300); do
	if [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; then
		timeout 60 srun true || break # not every machine lets it
		echo ready
		cat >/dev/null # until standard input ends
		exit
	fi
	kill -0 "${pids[@]}" 2>/dev/null || break
	sleep 0.1
done
echo "the cluster does not start:" >&2
tail -n 5 "$dir"/*.log "$dir"/*.out >&2
exit 1
