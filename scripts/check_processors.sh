#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What builds and passes here does so on other processors and with another compiler, and computes the same there.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/check_processors.sh [options]

Compiles library, programs and tests for x86-64-v2, x86-64-v3, znver3 and x86-64-v4, with g++ and clang++-16, with and
without precompiled headers, with all optimisation and with warnings as errors. If this machine can run a build, it runs
the tests of kernels and optimizers, and compares the parameters that kadam-replay computes from tests/golden: they must
be equal to the last bit. Sixteen builds take hours on two cores; they stay in build-processors for the next run.
Options:

  --only WORD   only builds with this word in their name (may be repeated)
  --draw N      only one build, number N modulo the number of builds, and only its parts that have kernels (the library,
                the tests that are run, kadam-replay), in units of six files: for continuous integration
  --list        prints the names of the builds
  --jobs N      compile N files at a time (default: one per core)
  --help        this text

The last line counts builds: N passed, N failed.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/packages.sh
source "$here/internal/packages.sh"

names=()
for compiler in g++ clang++-16; do
  for processor in x86-64-v2 x86-64-v3 znver3 x86-64-v4; do
    names+=("${compiler}_$processor" "${compiler}_${processor}_precompiled")
  done
done

words=()
draw=''
jobs=$(nproc)
while (($#)); do
  case $1 in
    --only | --draw | --jobs) (($# > 1)) || stop "$1 needs a value; see scripts/check_processors.sh --help." ;;&
    --draw) [[ $2 =~ ^[0-9]{1,9}$ ]] || stop "$1 needs a number, not $2." ;;&
    --jobs) require_count "$1" "$2" 999999999 ;;&
    --only) words+=("$2") && shift 2 ;;
    --draw) draw=$2 && shift 2 ;;
    --jobs) jobs=$2 && shift 2 ;;
    --list) printf '%s\n' "${names[@]}" && exit ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/check_processors.sh --help." ;;
  esac
done

chosen=()
for name in "${names[@]}"; do
  for word in "${words[@]:-$name}"; do
    if [[ $name == *"$word"* ]]; then chosen+=("$name") && break; fi
  done
done
((${#chosen[@]})) || stop "No build has ${words[*]} in its name; see scripts/check_processors.sh --list."
if [[ -n $draw ]]; then chosen=("${chosen[draw % ${#chosen[@]}]}"); fi

# can_run PROCESSOR: whether this machine has what gcc uses for it.
can_run() {
  local flags needs=(ssse3 sse4_1 sse4_2 popcnt cx16) need
  flags=" $(grep -m 1 '^flags' /proc/cpuinfo) "
  case $1 in x86-64-v3 | znver3 | x86-64-v4) needs+=(avx avx2 bmi1 bmi2 f16c fma abm movbe) ;;& esac
  case $1 in
    x86-64-v4) needs+=(avx512f avx512bw avx512cd avx512dq avx512vl) ;;
    znver3) needs+=(adx clflushopt clwb clzero fsgsbase rdpid sha_ni sse4a vaes vpclmulqdq xsaves) ;;
  esac
  for need in "${needs[@]}"; do [[ $flags == *" $need "* ]] || return 1; done
}

# build NAME: writes `folder`.
build() {
  local name=$1 compiler=${1%%_*} rest=${1#*_} precompiled=OFF targets=(all kadam_tests) extra=() target
  if [[ $rest == *_precompiled ]]; then precompiled=ON; fi
  folder=$KADAM_ROOT/build-processors/$name
  if [[ -n $draw ]]; then
    targets=(kernels_test optimizers_test kadam-replay)
    extra=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=6)
  fi
  local arguments=()
  for target in "${targets[@]}"; do arguments+=(--target "$target"); done
  "$here/setup.sh" --preset developer --build "$folder" --jobs "$jobs" "${arguments[@]}" -- "${extra[@]}" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="-march=${rest%_precompiled}" \
    -DKADAM_ENABLE_PRECOMPILED_HEADERS="$precompiled"
}

# trajectories FOLDER: what kadam-replay makes of each golden case, as checksums.
trajectories() {
  local case ranks out
  out=$(mktemp -d)
  for case in "$KADAM_ROOT"/tests/golden/*/; do
    ranks=$(sed -n 's/^ *"ranks": \([0-9]*\),*$/\1/p' "$case/case.json")
    mpirun -n "$ranks" "$1/bin/kadam-replay" --case "$case" --out "$out/$(basename "$case").npy" >/dev/null
  done
  (cd "$out" && sha256sum -- *.npy)
  rm -r "$out"
}

# compare NAME FOLDER: with the first build that was run.
compare() {
  local first=$KADAM_ROOT/build-processors/trajectories
  trajectories "$2" >"$2/trajectories" || return 1
  if [[ ! -s $first ]]; then
    cp "$2/trajectories" "$first"
    echo "$1" >"$first-of"
    return
  fi
  diff "$first" "$2/trajectories" || { say "$1 computes other parameters than $(<"$first-of")." && return 1; }
  say "$1: $(wc -l <"$first") golden cases equal $(<"$first-of") to the last bit."
}

# check NAME: builds, tests, compares.
check() {
  local name=$1 processor=${1#*_} folder
  build "$name" || return 1
  if ! can_run "${processor%_precompiled}"; then
    say "$name: the build succeeds; this machine cannot run it."
    return
  fi
  "$here/test.sh" --no-setup --build "$folder" -R '^(kernels_test|optimizers_test_np2)$' || return 1
  compare "$name" "$folder"
}

if [[ ${chosen[*]} == *clang* ]]; then ensure_packages "$KADAM_PACKAGES_CLANG"; fi
mkdir -p "$KADAM_ROOT/build-processors"
prepare_ranks
# The first one is what the others are compared with; the build of the user, where one is drawn.
rm -f "$KADAM_ROOT"/build-processors/trajectories*
if [[ -n $draw && -x $KADAM_ROOT/build/bin/kadam-replay ]]; then
  trajectories "$KADAM_ROOT/build" >"$KADAM_ROOT/build-processors/trajectories"
  echo "the build for this machine" >"$KADAM_ROOT/build-processors/trajectories-of"
fi
passed=0 failed=0
for name in "${chosen[@]}"; do
  say "$name"
  if check "$name"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    say "$name failed."
  fi
done
echo "$passed passed, $failed failed"
((failed == 0))
