#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Hosts on a slow network, on one machine: network namespaces, cables, a switch, token buckets.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/netlab.sh COMMAND [options]

Makes hosts with a network of their own on this machine, runs programs on them, and removes them again. Needs root.

  up [--hosts N] [--rate RATE] [--delay TIME]
                                      makes N hosts (default 4) on one switch. RATE is that of each cable, in both
                                      directions: 10mbit, 100mbit, 1gbit, or none (default), as fast as the machine.
                                      TIME is the delay from host to host, one way: 2ms, 500us. With a delay a
                                      program carries every frame, and the limit is about 1gbit
  shape [--rate RATE] [--delay TIME]  changes rate or delay while the lab is up; a delay needs an up that had one, as
                                      in --delay 0ms
  run [--ranks-per-host K] [--mpirun-args WORDS] [--] PROGRAM [ARGS...]
                                      starts PROGRAM with mpirun on all hosts, with one thread per rank unless
                                      OMP_NUM_THREADS says otherwise, and exits with its code. WORDS go to mpirun, as
                                      do those in KADAM_NETLAB_MPIRUN_ARGS
  exec HOST [--] COMMAND...           runs COMMAND on one host: 0, 1, ... (198.18.0.1, 198.18.0.2, ...; the interface
                                      is eth0)
  bytes                               prints the bytes that each host has sent and received since up, as JSON
  down                                removes all hosts, and ends the programs that still run on them
  with [--hosts N] [--rate RATE] [--delay TIME] [--] COMMAND...
                                      does up, then runs COMMAND outside of the hosts (it may call shape, run, exec,
                                      bytes), then does down, also after a failure or a signal; exits with the code
                                      of COMMAND

Every command takes --name NAME, the name of the lab, so that several labs can be up at once (default: $KADAM_NETLAB,
else kadam; with takes a new name). If the system allows no namespaces, the script prints one sentence on standard error
and exits with code 77.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/netlab_network.sh
source "$here/internal/netlab_network.sh"

command=${1:-}
hosts=4
rate=''
delay=''
lab=${KADAM_NETLAB:-}
ranks_per_host=1
mpirun_arguments=()
words=()

# ---- options ------------------------------------------------------------------------------------------------

# An option belongs to the commands named beside it.
check_option() {
  local of
  case $1 in
    --hosts) of='up with' ;;
    --rate | --delay) of='up with shape' ;;
    --ranks-per-host | --mpirun-args) of=run ;;
    *) stop "Unknown option $1; see scripts/netlab.sh --help." ;;
  esac
  [[ " $of " == *" $command "* ]] || stop "$1 is no option of $command; see scripts/netlab.sh --help."
}

read_options() {
  local more
  while (($#)); do
    case $1 in
      --) words=("${@:2}") && return ;;
      --help | -h) usage && exit ;;
      -*) ;;
      *) words=("$@") && return ;;
    esac
    if [[ $1 != --name ]]; then check_option "$1"; fi
    (($# > 1)) || stop "$1 needs a value; see scripts/netlab.sh --help."
    case $1 in
      --name) lab=$2 ;;
      --hosts) require_count "$1" "$2" 9999 && hosts=$2 ;;
      --ranks-per-host) require_count "$1" "$2" 9999 && ranks_per_host=$2 ;;
      --rate) rate=$2 && check_rate ;;
      --delay)
        delay=$(microseconds "$2")
        [[ -n $delay ]] || stop "--delay needs a time like 2ms or 500us, not $2."
        ;;
      --mpirun-args) read -ra more <<<"$2" && mpirun_arguments+=("${more[@]}") ;;
    esac
    shift 2
  done
}

check_rate() {
  [[ $rate == none || -n $(bits_per_second "$rate") ]] ||
    stop "--rate needs a rate like 10mbit, 100mbit, 1gbit or none, not $rate."
}

need_words() { ((${#words[@]})) || stop "$command needs $1; see scripts/netlab.sh --help."; }

# ---- commands -----------------------------------------------------------------------------------------------

up() {
  local why
  why=$(why_not "$delay")
  if [[ -n $why ]]; then
    echo "skipped: $why" >&2
    exit 77
  fi
  claim_lab
  trap remove_lab EXIT # of a lab half made
  make_lab "$hosts" "$delay"
  shape_lab "${rate:-none}"
  trap - EXIT
}

# The lab, in words.
describe() {
  local last=$((hosts - 1)) speed="$rate each way"
  if [[ -z $rate || $rate == none ]]; then speed="not shaped"; fi
  say "Lab $lab: $(host_name 0) to $(host_name "$last"), $(host_address 0) to $(host_address "$last") on eth0," \
    "$speed${delay:+, $delay microseconds from host to host}."
}

# Open MPI's mpirun, where two are installed.
find_mpirun() {
  mpirun=$(command -v mpirun.openmpi || command -v mpirun || true)
  [[ -n $mpirun ]] || stop "run needs mpirun (Open MPI)."
  [[ $("$mpirun" --version 2>&1) =~ \((Open MPI|OpenRTE)\)\ 4\. ]] ||
    stop "run needs the mpirun of Open MPI 4, not $mpirun."
}

# Never returns: this shell becomes mpirun on the first host.
run() {
  local i list='' mpirun more
  hosts=$(host_count)
  find_mpirun
  # shellcheck source=scripts/mpi_environment.sh
  source "$here/mpi_environment.sh"
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
  export OMP_PROC_BIND=${OMP_PROC_BIND:-false} KADAM_NETLAB=$lab
  for ((i = 0; i < hosts; ++i)); do list+=,$(host_name "$i"):$ranks_per_host; done
  read -ra more <<<"${KADAM_NETLAB_MPIRUN_ARGS:-}"
  # Its files lie with the lab's, so that down removes them. Ranks of one host share memory (vader).
  in_host 0 "$mpirun" --mca plm rsh --mca plm_rsh_agent "$here/internal/netlab_agent.sh" \
    --mca orte_tmpdir_base "$(state)" --mca oob_tcp_if_include eth0 \
    --mca pml ob1 --mca btl tcp,vader,self --mca btl_tcp_if_include eth0 --mca btl_tcp_flags 1 \
    --host "${list#,}" -np $((hosts * ranks_per_host)) "${more[@]}" "${mpirun_arguments[@]}" "${words[@]}"
}

execute() {
  local host=${words[0]#h} last
  last=$(($(host_count) - 1))
  if [[ ! $host =~ ^(0|[1-9][0-9]{0,3})$ ]] || ((host > last)); then
    stop "There is no host ${words[0]}; the hosts are 0 to $last."
  fi
  words=("${words[@]:1}")
  if [[ ${words[0]:-} == -- ]]; then words=("${words[@]:1}"); fi
  need_words "a command"
  in_host "$host" "${words[@]}"
}

# Bash runs a trap only after the program it waits for: so the program runs beside it.
with() {
  local child=''
  up
  trap remove_lab EXIT
  trap '[[ -z $child ]] || kill -TERM "$child" 2>/dev/null; end_processes; exit 130' INT
  trap '[[ -z $child ]] || kill -TERM "$child" 2>/dev/null; end_processes; exit 143' TERM HUP
  export KADAM_NETLAB=$lab
  "${words[@]}" <&0 &
  child=$!
  wait "$child"
}

case $command in
  --help | -h) usage && exit ;;
  up | shape | run | exec | bytes | down | with) read_options "${@:2}" ;;
  '') stop "Give a command; see scripts/netlab.sh --help." ;;
  *) stop "Unknown command $command; see scripts/netlab.sh --help." ;;
esac
if [[ -z $lab ]]; then
  [[ $command == with ]] && lab=with$$ || lab=kadam
fi
[[ $lab =~ ^[a-z][a-z0-9]{0,15}$ ]] ||
  stop "A lab's name is a small letter, then up to 15 small letters and digits, not $lab."
case $command in
  up) up && describe ;;
  shape)
    [[ -n $rate$delay ]] || stop "shape needs --rate or --delay; see scripts/netlab.sh --help."
    if [[ -n $delay ]]; then delay_lab "$delay"; fi
    if [[ -n $rate ]]; then shape_lab "$rate"; fi
    ;;
  run) need_words "a program" && run ;;
  exec) need_words "a host and a command" && execute ;;
  bytes) bytes_of_lab ;;
  down) remove_lab ;;
  with) need_words "a command" && with ;;
esac
