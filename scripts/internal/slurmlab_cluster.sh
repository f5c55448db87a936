# shellcheck shell=bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The daemons and nodes of scripts/slurmlab.sh. Sourced, never run.
#
# Reads:  lab, the name of this lab
# A node is a PID namespace with a host name of its own: what runs in it ends with it, at once, as on a machine without
# power. The head, which holds munged and slurmctld, is one as well.

# Not in /run, where most systems allow no programs, and job scripts are some.
SLURMLAB_FOLDER=/tmp/kadam-slurmlab

state() { echo "$SLURMLAB_FOLDER/$lab"; }
need_lab() { [[ -e $(state)/ready ]] || stop "The lab $lab is not up; start it with scripts/slurmlab.sh up."; }

# All that starts in it ends when its first process does.
new_machine=(unshare --pid --fork --kill-child --mount --propagation slave --mount-proc --uts)

# One sentence if this system does not allow a lab, else nothing.
why_not() {
  local tool said
  ((EUID == 0)) || { echo "only root may make a Slurm cluster" && return; }
  for tool in unshare python3; do
    command -v "$tool" >/dev/null || { echo "$tool is missing (install util-linux and python3)" && return; }
  done
  said=$("${new_machine[@]}" hostname kadam-probe 2>&1) ||
    echo "this system does not allow namespaces ($(tail -n 1 <<<"$said"))"
}

# ---- configuration ------------------------------------------------------------------------------------------

# free_ports N: a line of N TCP ports that nothing listens on, and no lab has. Not of those that systems give to whoever
# connects: the port of a lost node must stay one that nobody answers on.
free_ports() {
  python3 - "$1" "$SLURMLAB_FOLDER" <<'PYTHON'
import pathlib, random, re, socket, sys
taken = {int(port) for conf in pathlib.Path(sys.argv[2]).glob("*/slurm.conf")
         for port in re.findall(r"Port=(\d+)", conf.read_text())}
found = []
while len(found) < int(sys.argv[1]):
    port = random.randrange(20000, 32000)
    if port in taken:
        continue
    try:
        found.append(socket.create_server(("", port)))
    except OSError:
        pass
print(*(one.getsockname()[1] for one in found))
PYTHON
}

# Times are short, so that what takes minutes on a cluster takes seconds: a lost node is noticed after SlurmdTimeout, a
# requeued job waits for cred_expire. JobRequeue, MpiDefault: what a script needs it has to say. task/none: nodes share
# the cores, none can be bound.
# KillWait is shorter than MessageTimeout (10 s): the end of a step is told to a node by a message that is answered after
# KillWait. An answer that comes too late has Slurm send the message again after 60 s, when here, unlike on a cluster, the
# requeued job runs already: its step has the same number, and is ended.
write_configuration() {
  local nodes=$1 cpus=$2 gpus=$3 gres='' ports i
  read -ra ports <<<"$(free_ports $((nodes + 1)))"
  cat >"$(state)/slurm.conf" <<TEXT
ClusterName=$lab
SlurmctldHost=head(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$(state)/munge/socket,cred_expire=5
StateSaveLocation=$(state)/slurmctld
SlurmctldPidFile=$(state)/slurmctld.pid
SlurmctldLogFile=$(state)/slurmctld.log
SlurmdSpoolDir=$(state)/%n
SlurmdPidFile=$(state)/%n/slurmd.pid
SlurmdLogFile=$(state)/%n.log
TmpFS=$(state)/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,bf_interval=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobRequeue=0
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=5
InactiveLimit=0
GresTypes=gpu
PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP
TEXT
  if ((gpus)); then
    gres=" Gres=gpu:$gpus"
    for ((i = 0; i < gpus; ++i)); do echo "Name=gpu File=$(state)/gpu$i"; done
    for ((i = 0; i < gpus; ++i)); do mknod "$(state)/gpu$i" c 1 3; done
  fi >"$(state)/gres.conf"
  for ((i = 1; i <= nodes; ++i)); do
    echo "NodeName=n$i NodeAddr=127.0.0.1 Port=${ports[i]} CPUs=$cpus State=UNKNOWN$gres"
  done >>"$(state)/slurm.conf"
}

# ---- machines -----------------------------------------------------------------------------------------------

# start_machine NAME SCRIPT: the first process is a shell, which runs the script and collects what ends. Shared memory
# is that of the machine: Open MPI names it after host and job.
start_machine() {
  SLURM_CONF=$(state)/slurm.conf setsid "${new_machine[@]}" \
    sh -c "hostname '$1' && mount -t tmpfs -o mode=1777 none /dev/shm && { $2 wait; }" \
    >>"$(state)/$1.out" 2>&1 </dev/null &
  echo $! >"$(state)/$1.machine"
  disown
}

# end_machine NAME: as without power. unshare returns when nothing is left of what it started.
end_machine() {
  local file pid first="" tries
  file=$(state)/$1.machine
  pid=$(cat "$file" 2>/dev/null) || return 0
  if [[ $(cat "/proc/$pid/comm" 2>/dev/null) == unshare ]]; then
    # unshare itself must not be killed: it would not wait for the others any more. A machine that has just been started
    # may have no first process yet; the list has no end of line, so read says that it failed.
    for ((tries = 0; tries < 100; ++tries)); do
      { read -r first _ <"/proc/$pid/task/$pid/children"; } 2>/dev/null || true
      [[ -z $first ]] || break
      sleep 0.02
    done
    kill -KILL "${first:-$pid}" 2>/dev/null || true
    for ((tries = 0; tries < 200; ++tries)); do
      [[ -e /proc/$pid/exe ]] || break # none has one that has ended, whoever should collect it
      sleep 0.05
    done
  fi
  rm -f "$file"
}

start_head() {
  start_machine head "munged --foreground --force --socket='$(state)/munge/socket' \
    --key-file='$(state)/munge/key' --pid-file='$(state)/munge/pid' --seed-file='$(state)/munge/seed' \
    --log-file='$(state)/munge/log' & slurmctld -D &"
}

start_node() {
  mkdir -p "$(state)/$1"
  start_machine "$1" "slurmd -D -N '$1' &"
}

need_node() {
  need_lab
  if [[ ! $1 =~ ^n[1-9][0-9]{0,2}$ ]] || ! grep -q "^NodeName=$1 " "$(state)/slurm.conf"; then
    stop "There is no node $1; the nodes are n1 to n$(grep -c ^NodeName= "$(state)/slurm.conf")."
  fi
}

lose_node() {
  need_node "$1"
  end_machine "$1"
}

mend_node() {
  need_node "$1"
  [[ ! -e $(state)/$1.machine ]] || stop "The node $1 was not lost."
  start_node "$1"
}

# ---- the lab ------------------------------------------------------------------------------------------------

# The name is taken by whoever makes its folder.
claim_lab() {
  mkdir -m 755 "$SLURMLAB_FOLDER" 2>/dev/null || true
  [[ -O $SLURMLAB_FOLDER && ! -L $SLURMLAB_FOLDER ]] || stop "$SLURMLAB_FOLDER belongs to somebody else: remove it."
  mkdir -m 755 "$(state)" 2>/dev/null || stop "The lab $lab is up already: take it down, or name another with --name."
}

# wait_for_nodes N: until all of them take jobs.
wait_for_nodes() {
  local tries idle
  for ((tries = 0; tries < 150; ++tries)); do
    idle=$(SLURM_CONF=$(state)/slurm.conf timeout 5 sinfo --noheader --Node --states=idle 2>/dev/null | wc -l)
    ((idle < $1)) || return 0
    sleep 0.2
  done
  tail -n 5 "$(state)"/*.out "$(state)"/*.log "$(state)"/munge/log >&2 || true
  stop "The nodes of the lab $lab did not come up within 30 s; the messages of the daemons are above."
}

# make_lab NODES CPUS GPUS
make_lab() {
  local i
  mkdir -m 755 "$(state)/munge" "$(state)/slurmctld"
  mkdir -m 1777 "$(state)/tmp"
  (umask 077 && head -c 1024 /dev/urandom >"$(state)/munge/key")
  (
    flock 9 # labs that start together must not find the same ports free
    write_configuration "$@"
  ) 9<"$SLURMLAB_FOLDER"
  start_head
  for ((i = 1; i <= $1; ++i)); do start_node "n$i"; done
  wait_for_nodes "$1"
  touch "$(state)/ready"
}

remove_lab() {
  local file
  for file in "$(state)"/*.machine; do
    [[ -e $file ]] && end_machine "$(basename "$file" .machine)"
  done
  rm -rf "$(state)"
  rmdir "$SLURMLAB_FOLDER" 2>/dev/null || true # the last one
}
