#!/bin/sh
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a GPU is asked. It runs where nothing is installed: a POSIX shell and coreutils, or busybox.
# shellcheck disable=SC2154,SC2317 # `settings` says backend, commit, elements and aware; functions are others' arguments
set -u

usage() {
  cat <<'TEXT'
gpu_check.sh --run [options]

Measures and tests Kadam on this machine's GPU, the most important stages first. It writes each result at once: if a run
is killed, its results stay, and the next run goes on from there. Stages:

  kernels       every kernel beside a copy in the GPU's memory, 2^26 elements
  sizes         the same with 1/64 and with 4 times as many elements
  steps         a step of every optimizer with 1 and with 400 tensors, on 1 and on 2 ranks
  kernel-tests  the kernels' tests
  ranks         the collectives' and the optimizers' tests, 1, 2 and 4 ranks on one GPU
  state         the tests of checkpoints, and recorded trajectories
  memcheck      the kernels' tests under compute-sanitizer, if there is one
  racecheck     the same with its tool racecheck
  torch         PyTorch's counterparts of the kernels, if python3 has a PyTorch that sees the GPU
  exchange      exchanges between 2 ranks, staged through the host's memory and direct

Options:
  --out FOLDER     folder for figures and logs (default: results, beside this script)
  --from FOLDER    folder with the results of an earlier run, which are first copied to --out
  --minutes N      stops after N minutes, also in the middle of a test (default 9)
  --only STAGE...  only these stages (last option)
  --again          forgets the results of the wanted stages
  --elements N     elements of a vector, in place of 2^26
  --help           this text

Exit codes: 0 everything is done and passed, 1 something failed, 75 something is left to do (the same command goes on),
77 no device answers.
TEXT
}

stop() {
  echo "kadam: $*" >&2
  exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
out=$here/results earlier='' minutes=9 only='' again=false said_elements=''
while [ $# -gt 0 ]; do
  case $1 in
    --out | --from | --minutes | --elements) [ $# -gt 1 ] || stop "$1 needs a value; see --help." ;;
  esac
  case $1 in
    --run) shift ;;
    --out) out=$2 && shift 2 ;;
    --from) earlier=$2 && shift 2 ;;
    --minutes) minutes=$2 && shift 2 ;;
    --elements) said_elements=$2 && shift 2 ;;
    --again) again=true && shift ;;
    --only)
      shift
      only=" $* "
      [ $# -gt 0 ] || stop "--only needs stages; see --help."
      break
      ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see --help." ;;
  esac
done
for number in "$minutes" "${said_elements:-1}"; do
  case $number in '' | 0* | *[!0-9]*) stop "--minutes and --elements need numbers of 1 or more, not '$number'." ;; esac
done
for stage in $only; do
  case $stage in
    kernels | sizes | steps | kernel-tests | ranks | state | memcheck | racecheck | torch | exchange) ;;
    *) stop "There is no stage $stage; see --help." ;;
  esac
done

now() { date +%s; }
began=$(now)
deadline=$((began + 60 * minutes))

# Where programs are, unless `settings` says so; and what they are.
programs=$here/bin golden=$here/golden peers=$here/peers.py mpirun='' sanitizer='' cublas=''
# shellcheck source=/dev/null
. "$here/settings"
elements=${said_elements:-$elements}
mkdir -p "$out/state" || stop "$out cannot be written."
if [ -n "$earlier" ]; then
  [ -d "$earlier/state" ] || stop "$earlier has no results of an earlier run."
  cp -R "$earlier/." "$out" || stop "$earlier cannot be copied to $out."
fi
{
  cat "$here/settings"
  echo "measured='$(date -u +%Y-%m-%d)'"
} >"$out/settings"

# ---- programs, wherever they were brought from ----------------------------------------------------------------

# The C library of the machine where they were built is used where this one's is older, or another one.
loader=''
libraries=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# What is too large to be brought: where the loader looks, in CUDA's toolkit, or in PyTorch's packages.
if [ -n "$cublas" ]; then
  packages=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null) || packages=''
  for place in $(echo "${LD_LIBRARY_PATH:-}" | tr ':' ' ') /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib \
    /usr/lib/*-linux-gnu /usr/lib64 "$packages"/nvidia/*/lib ''; do
    if [ -e "$place/$cublas" ]; then break; fi
  done
  [ -n "$place" ] || stop "this machine has no $cublas, which is too large for a bundle: install CUDA's cuBLAS or \
PyTorch, or give its folder in LD_LIBRARY_PATH."
  libraries=$libraries:$place
fi
if [ -d "$here/lib" ]; then
  said=$(LD_LIBRARY_PATH=$libraries LD_TRACE_LOADED_OBJECTS=1 "$programs/kernels_test" 2>&1) || loader=needed
  case $said in *"version \`"*"not found"*) loader=needed ;; esac
fi
if [ -n "$loader" ]; then
  libraries=$here/lib/libc:$libraries
  for loader in "$here"/lib/libc/ld-*; do break; done
fi

# found PROGRAM ARGUMENT...: with what it is linked with.
found() {
  if [ -n "$loader" ]; then
    limited "$loader" --library-path "$libraries" "$@"
  elif [ -d "$here/lib" ]; then
    limited env LD_LIBRARY_PATH="$libraries" "$@"
  else
    limited "$@"
  fi
}

program() {
  run_program=$programs/$1
  shift
  found "$run_program" "$@"
}

# ranks N NAME ARGUMENT...: all on this host. One rank has all threads; alone, Open MPI would look for its daemon.
ranks() {
  count=$1 run_program=$programs/$2
  shift 2
  if [ -z "$mpirun" ]; then
    found "$run_program" "$@"
    return
  fi
  if [ -n "$loader" ]; then
    set -- "$loader" --library-path "$libraries" "$run_program" "$@"
  else
    set -- "$run_program" "$@"
  fi
  if [ "$count" -gt 1 ]; then set -- OMP_NUM_THREADS=1 "$@"; fi
  found "$mpirun" -n "$count" env KADAM_TEST_RANKS="$count" "$@"
}

# shellcheck source=scripts/mpi_environment.sh
. "$here/mpi_environment.sh"
export OMP_PROC_BIND=false KADAM_TEST_GOLDEN_FOLDER="$golden"
if [ -e "$here/bin/mpirun" ]; then
  mpirun=$here/bin/mpirun
  export OPAL_PREFIX="$here" OPAL_LIBDIR="$here/lib" OPAL_PKGDATADIR="$here/share" PMIX_INSTALL_PREFIX="$here"
  export OMPI_MCA_mca_base_component_path="$here/lib/components" PMIX_MCA_mca_base_component_path="$here/lib/pmix"
  # Containers often forbid to read another process' memory.
  export OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
fi
# Tests write many small files, which is quick in memory; sockets of Open MPI need a short path.
for place in /dev/shm /tmp "$out"; do
  if scratch=$(mktemp -d "$place/kadam.XXXXXX" 2>/dev/null); then break; fi
done
export TMPDIR="$scratch/files" OMPI_MCA_orte_tmpdir_base="$scratch/mpi"

# ---- units: what is begun and ended as one ---------------------------------------------------------------------

# A unit's state is a file of one line: begun, or passed, failed, skipped SECONDS WHY.
state_of() {
  state='' seconds=0 why=''
  if [ -f "$out/state/$1" ]; then read -r state seconds why <"$out/state/$1" || true; fi
}
set_state() {
  echo "$2 $3 $4" >"$out/state/$1.new"
  mv "$out/state/$1.new" "$out/state/$1"
}

wanted() {
  case ${only:-" $1 "} in *" $1 "*) ;; *) return 1 ;; esac
}

# limited COMMAND...: in the background, so that a signal to this script is heeded at once.
child=''
limited() {
  timeout -k 10 "$limit" "$@" >"$out/$unit.$kind" 2>"$out/$unit.log" </dev/null &
  child=$!
  wait "$child"
  code=$?
  child=''
  return "$code"
}

# The last line, but for what mpirun says between two lines.
last_words() {
  words=''
  for file in "$out/$unit.log" "$out/$unit.$kind"; do
    while read -r line; do
      case $line in
        -----*) if [ -n "$words" ]; then break; fi ;;
        ?*) words=$line ;;
      esac
    done <"$file"
    if [ -n "$words" ]; then break; fi
  done
  echo "$words" | cut -c 1-160
}

# unit STAGE NAME KIND SECONDS COMMAND...: what the command prints is NAME.KIND. `pass` says what is done with it:
# again: forget it; first: run it if it was never begun; rest: run it if it has not ended; table: count it.
unit() {
  stage=$1 unit=$2 kind=$3 most=$4
  shift 4
  if ! wanted "$stage"; then return; fi
  state_of "$unit"
  case $pass in
    again) rm -f "$out/state/$unit" && return ;;
    table) count && return ;;
    first) [ "$state" != begun ] || return 0 ;;
  esac
  case $state in passed | failed) return ;; esac
  limit=$((deadline - $(now)))
  if [ "$limit" -lt 5 ]; then return; fi
  cut=true
  if [ "$limit" -gt "$most" ]; then limit=$most cut=false; fi
  set_state "$unit" begun 0 ''
  printf 'kadam: %s ... ' "$unit"
  mkdir -p "$scratch/files" "$scratch/mpi"
  start=$(now)
  code=0
  "$@" || code=$?
  took=$(($(now) - start))
  rm -rf "$scratch/files" "$scratch/mpi"
  if [ "$code" = 0 ]; then
    set_state "$unit" passed "$took" ''
  elif [ "$code" != 124 ] && [ "$took" -lt "$limit" ]; then
    set_state "$unit" failed "$took" "exit code $code: $(last_words)"
  elif [ "$cut" = true ]; then
    echo "the time is up"
    return
  else
    set_state "$unit" failed "$took" "it was not done after $limit seconds"
  fi
  state_of "$unit"
  echo "$state, $took s${why:+ ($why)}"
  clocks
}

# skip STAGE WHY: for now; another run asks again.
skip() {
  if ! wanted "$1"; then return; fi
  stage=$1 unit=$1 state=skipped seconds=0 why=$2
  if [ "$pass" = table ]; then count; fi
}

# ---- what is said ------------------------------------------------------------------------------------------------

has() { command -v "$1" >/dev/null 2>&1; }

clocks() {
  if has nvidia-smi; then
    nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv,noheader 2>/dev/null |
      while read -r line; do echo "$unit: $line"; done >>"$out/clocks.txt"
  fi
}

say_gpu() {
  echo "kadam: $commit for $backend${architecture:+ ($architecture)}, on $(uname -n), ${minutes} minutes, into $out"
  if has nvidia-smi; then
    nvidia-smi >"$out/gpu.txt" 2>&1
    nvidia-smi -q >>"$out/gpu.txt" 2>&1
    nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,temperature.gpu,power.limit \
      --format=csv 2>&1 | tee "$out/gpu.csv"
  elif has rocm-smi; then
    rocm-smi --showproductname --showclocks 2>&1 | tee "$out/gpu.txt"
  else
    echo "kadam: there is neither nvidia-smi nor rocm-smi"
  fi
}

counted='' lines='' unfinished=false failures=false
new_row() {
  counted=$1 passed=0 failed=0 skipped=0 left=0 spent=0
}
end_row() {
  if [ -n "$counted" ]; then
    printf '%-14s %7s %7s %8s %5s %8s\n' "$counted" "$passed" "$failed" "$skipped" "$left" "$spent"
  fi
}
count() {
  if [ "$stage" != "$counted" ]; then end_row && new_row "$stage"; fi
  case $state in
    passed) passed=$((passed + 1)) ;;
    failed) failed=$((failed + 1)) failures=true ;;
    skipped) skipped=$((skipped + 1)) ;;
    *) left=$((left + 1)) unfinished=true ;;
  esac
  spent=$((spent + seconds))
  case $state in failed | skipped) lines="$lines$unit $state: $why
" ;; esac
}

# The table is a file as well; it says what was wrong below.
end() {
  rm -rf "$scratch"
  pass=table counted='' lines='' unfinished=false failures=false
  {
    printf '%-14s %7s %7s %8s %5s %8s\n' stage passed failed skipped left seconds
    plan
    end_row
    printf '%s' "$lines"
  } >"$out/stages.txt"
  echo
  cat "$out/stages.txt"
  if [ "$failures" = true ]; then exit 1; fi
  if [ "$unfinished" = true ]; then exit 75; fi
  exit 0
}

interrupted() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then
    kill -TERM "$child" 2>/dev/null
    wait "$child"
  fi
  echo "interrupted"
  end
}

# ---- the stages, in the order of their worth ---------------------------------------------------------------------

# shards STAGE NAME N SECONDS COMMAND...: GoogleTest's tests in N parts: little is lost when one does not end.
shards() {
  of_stage=$1 of_name=$2 parts=$3 most_seconds=$4
  shift 4
  part=0
  while [ "$part" -lt "$parts" ]; do
    unit "$of_stage" "$of_name-$((part + 1))-of-$parts" out "$most_seconds" shard "$@"
    part=$((part + 1))
  done
}
shard() {
  export GTEST_TOTAL_SHARDS="$parts" GTEST_SHARD_INDEX="$part"
  "$@"
  code=$?
  unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX
  return "$code"
}

# The program and what the loader starts.
sanitized() {
  set -- "$programs/kernels_test"
  if [ -n "$loader" ]; then
    set -- "$loader" --library-path "$libraries" "$@"
  elif [ -d "$here/lib" ]; then
    set -- env LD_LIBRARY_PATH="$libraries" "$@"
  fi
  limited "$sanitizer" --tool "$tool" --target-processes all --error-exitcode 9 "$@"
}

exchanges() {
  export KADAM_GPU_AWARE="$1"
  ranks 2 kadam-bench exchange --json --elements "$((elements / 64)),$((elements / 4))" --seconds 60
  code=$?
  unset KADAM_GPU_AWARE
  return "$code"
}

plan() {
  unit kernels "kernels-$elements" jsonl 240 ranks 1 kadam-bench kernels --json --elements "$elements"
  for size in $((elements / 64)) $((elements * 4)); do
    unit sizes "kernels-$size" jsonl 240 ranks 1 kadam-bench kernels --json --elements "$size"
  done
  for tensors in 1 400; do
    unit steps "steps-1-$tensors" jsonl 120 ranks 1 kadam-bench steps --json --elements "$elements" --tensors "$tensors" \
      --seconds 60
  done
  if [ -n "$mpirun" ]; then
    for tensors in 1 400; do
      unit steps "steps-2-$tensors" jsonl 180 ranks 2 kadam-bench steps --json --elements "$elements" \
        --tensors "$tensors" --seconds 90
    done
  fi
  shards kernel-tests kernels 4 300 program kernels_test
  if [ -n "$mpirun" ]; then
    for number in 2 1 4; do
      unit ranks "collectives-$number" out 300 ranks "$number" collectives_test
      shards ranks "optimizers-$number" 4 300 ranks "$number" optimizers_test
    done
    for number in 2 1 4; do unit state "checkpoint-$number" out 400 ranks "$number" checkpoint_test; done
    for number in 2 3 4; do unit state "golden-$number" out 120 ranks "$number" golden_replay_test; done
  else
    skip ranks "there is no mpirun"
    skip state "there is no mpirun"
  fi
  for tool in memcheck racecheck; do
    if [ -n "$sanitizer" ]; then
      shards "$tool" "$tool" 8 500 sanitized
    else
      skip "$tool" "there is no compute-sanitizer"
    fi
  done
  if [ "$torch" = true ]; then
    unit torch "torch-$elements" jsonl 240 limited python3 "$peers" --device cuda --elements "$elements" --repetitions 21
  else
    skip torch "python3 has no torch that sees the GPU"
  fi
  if [ -z "$mpirun" ]; then
    skip exchange "there is no mpirun"
    return
  fi
  unit exchange exchange-staged jsonl 120 exchanges off
  if [ "$aware" = true ]; then
    unit exchange exchange-direct jsonl 120 exchanges on
  else
    skip exchange "no direct exchange: this MPI does not take memory of a GPU"
  fi
}

trap interrupted INT TERM HUP
say_gpu
# Without a device all would fail, and stay so in the next run.
unit=device kind=out limit=60
if ! program kernels_test --gtest_filter=none; then
  rm -rf "$scratch"
  echo "kadam: no device answers: $(last_words)"
  exit 77
fi
if [ "$backend" = cuda ]; then
  for sanitizer in "$(command -v compute-sanitizer)" /usr/local/cuda/bin/compute-sanitizer \
    /usr/local/cuda/compute-sanitizer/compute-sanitizer ''; do
    if [ -x "$sanitizer" ]; then break; fi
  done
fi
torch=false
if [ "$backend" != host ] && wanted torch && has python3 &&
  timeout 60 python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1; then
  torch=true
fi
if [ "$again" = true ]; then pass=again && plan; fi
for pass in first rest; do plan; done
end
