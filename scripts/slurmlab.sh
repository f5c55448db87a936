#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Slurm cluster on one machine: real daemons, nodes that are namespaces, ports and a folder of its own.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/slurmlab.sh COMMAND [options]

Makes a Slurm cluster on this machine, to try batch scripts on, and removes it again. Needs root. Installs Slurm where
it is missing (Debian's slurmctld, slurmd, slurm-client, munge). A Slurm that this machine belongs to is left alone.

  up [--nodes N] [--cpus N] [--gpus N]
                              makes N nodes (default 2), called n1, n2, ...; each reports so many CPUs (default 8)
                              and GPUs (default 0). The machine need not have them: nodes share its CPUs, and GPUs are
                              names. Each node has a host name and a /dev/shm of its own, and the machine's files and
                              network
  run [--] COMMAND...         runs COMMAND with the sbatch, srun, squeue, scontrol and sinfo of the lab, as in
                              run sbatch job.sbatch or run bash, and exits with its code
  lose NODE                   cuts the power of a node: all its processes end at once. Slurm notices within 30 s
  mend NODE                   starts a lost node again
  down                        ends all jobs and daemons, and removes the folder
  with [--nodes N] [--cpus N] [--gpus N] [--] COMMAND...
                              does up, then runs COMMAND as run does (it may call lose and mend), then does down, also
                              after a failure or a signal; exits with the code of COMMAND

Every command takes --name NAME, the name of the lab, so that several labs can be up at once (default: $KADAM_SLURMLAB,
else kadam; with takes a new name). If there can be no lab, the script prints one sentence on standard error and exits
with code 77.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/packages.sh
source "$here/internal/packages.sh"
# shellcheck source=scripts/internal/slurmlab_cluster.sh
source "$here/internal/slurmlab_cluster.sh"

command=${1:-}
nodes=2
cpus=8
gpus=0
lab=${KADAM_SLURMLAB:-}
words=()

# ---- options ------------------------------------------------------------------------------------------------

# need_number OPTION VALUE LEAST
need_number() {
  if [[ ! $2 =~ ^(0|[1-9][0-9]{0,2})$ ]] || (($2 < $3)); then stop "$1 needs a number from $3 to 999, not $2."; fi
}

read_options() {
  while (($#)); do
    case $1 in
      --) words=("${@:2}") && return ;;
      --help | -h) usage && exit ;;
      --name) ;;
      --nodes | --cpus | --gpus)
        [[ $command == up || $command == with ]] || stop "$1 is no option of $command; see scripts/slurmlab.sh --help."
        ;;
      -*) stop "Unknown option $1; see scripts/slurmlab.sh --help." ;;
      *) words=("$@") && return ;;
    esac
    (($# > 1)) || stop "$1 needs a value; see scripts/slurmlab.sh --help."
    case $1 in
      --name) lab=$2 ;;
      --nodes) need_number "$1" "$2" 1 && nodes=$2 ;;
      --cpus) need_number "$1" "$2" 1 && cpus=$2 ;;
      --gpus) need_number "$1" "$2" 0 && gpus=$2 ;;
    esac
    shift 2
  done
}

need_words() { ((${#words[@]})) || stop "$command needs $1; see scripts/slurmlab.sh --help."; }

# ---- commands -----------------------------------------------------------------------------------------------

skip() {
  echo "skipped: $1" >&2
  exit 77
}

install_slurm() {
  local missing
  missing=$(missing_rows "$KADAM_PACKAGES_SLURM" | cut -d ' ' -f 1 | paste -sd ' ')
  [[ -n $missing ]] || return 0
  command -v apt-get >/dev/null || skip "there is no Slurm here, and no apt-get to install $missing"
  (ensure_packages "$KADAM_PACKAGES_SLURM") >&2 || skip "Slurm could not be installed ($missing)"
}

up() {
  local why
  why=$(why_not)
  [[ -z $why ]] || skip "$why"
  install_slurm
  claim_lab
  trap remove_lab EXIT # of a lab half made
  make_lab "$nodes" "$cpus" "$gpus"
  trap - EXIT
}

describe() {
  say "Lab $lab: $nodes nodes of $cpus CPUs$( ((gpus == 0)) || echo " and $gpus GPUs"), n1 to n$nodes;" \
    "scripts/slurmlab.sh run sbatch ..."
}

# What a job inherits from the shell that submits it: programs of Slurm find the lab, MPI more ranks than cores.
enter_lab() {
  local name
  need_lab
  for name in "${!SLURM_@}" "${!SBATCH_@}" "${!SRUN_@}"; do unset "$name"; done
  # shellcheck source=scripts/mpi_environment.sh
  source "$here/mpi_environment.sh"
  export KADAM_SLURMLAB=$lab
  SLURM_CONF=$(state)/slurm.conf
  export SLURM_CONF
  # All nodes have this machine's addresses. Open MPI's files lie with the lab's, so that down removes them.
  export OMPI_MCA_btl=tcp,vader,self OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
  OMPI_MCA_orte_tmpdir_base=$(state)/tmp
  export OMPI_MCA_orte_tmpdir_base
  # Each job listens on ports of its own: what is left of one that lost a node calls the lost rank's port again and
  # again, and a rank of another job that got it would die of that.
  export OMPI_MCA_btl_tcp_port_min_v4=$((10000 + RANDOM % 9000)) OMPI_MCA_btl_tcp_port_range_v4=500
  # MPICH's transport takes them for one machine whose memory they share.
  export UCX_TLS=tcp,self UCX_NET_DEVICES=lo
  # They share its cores as well: ranks of two nodes would be bound to the same ones, and threads that wait would keep
  # those busy that work.
  export OMP_PROC_BIND=false OMP_WAIT_POLICY=passive
}

run() {
  enter_lab
  exec "${words[@]}"
}

# Bash runs a trap only after the program it waits for: so the program runs beside it.
with() {
  local child=''
  up
  trap remove_lab EXIT
  trap '[[ -z $child ]] || kill -TERM "$child" 2>/dev/null; exit 130' INT
  trap '[[ -z $child ]] || kill -TERM "$child" 2>/dev/null; exit 143' TERM HUP
  enter_lab
  "${words[@]}" <&0 &
  child=$!
  wait "$child"
}

case $command in
  --help | -h) usage && exit ;;
  up | run | lose | mend | down | with) read_options "${@:2}" ;;
  '') stop "Give a command; see scripts/slurmlab.sh --help." ;;
  *) stop "Unknown command $command; see scripts/slurmlab.sh --help." ;;
esac
if [[ -z $lab ]]; then
  [[ $command == with ]] && lab=with$$ || lab=kadam
fi
[[ $lab =~ ^[a-z][a-z0-9]{0,15}$ ]] ||
  stop "A lab's name is a small letter, then up to 15 small letters and digits, not $lab."
case $command in
  up)
    up
    describe
    ;;
  run) need_words "a command" && run ;;
  lose) need_words "a node" && lose_node "${words[0]}" ;;
  mend) need_words "a node" && mend_node "${words[0]}" ;;
  down) remove_lab ;;
  with) need_words "a command" && with ;;
esac
