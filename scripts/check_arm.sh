#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The kernels compile for 64-bit Arm and compute there what they compute here.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/check_arm.sh [options]

Compiles Kokkos, the library without MPI and the tests of the kernels for 64-bit Arm, with all optimisation and with
warnings as errors, on a machine with x86-64 and Debian. Then runs these tests under qemu, which emulates the processor.
They compare every kernel with plain loops, many of them to the last bit. Times under qemu say nothing about Arm.

Installs a cross compiler, qemu and packages of the architecture arm64, which needs root. The build stays in build-arm
for the next run. Options:

  --march NAME   what g++ compiles for (default armv8.2-a; armv9-a has SVE2)
  --jobs N       compile N files, or run N processes, at a time (default: one per core)
  --help         this text

GTEST_FILTER='TopK*' in the environment chooses tests. The last line counts tests: N passed, N failed.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/packages.sh
source "$here/internal/packages.sh"

march=armv8.2-a
jobs=$(nproc)
while (($#)); do
  case $1 in
    --march | --jobs) (($# > 1)) || stop "$1 needs a value; see scripts/check_arm.sh --help." ;;&
    --march) march=$2 && shift 2 ;;
    --jobs) require_count "$1" "$2" 9999 && jobs=$2 && shift 2 ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/check_arm.sh --help." ;;
  esac
done
[[ $(uname -m) == x86_64 ]] || stop "This script needs x86-64. On Arm itself, run scripts/test.sh -R '^kernels_test$'"
command -v dpkg >/dev/null || stop "This script needs Debian's packages for arm64, and there is no dpkg here."
folder=$KADAM_ROOT/build-arm/$march

# A Kokkos that is there is none for Arm.
build() {
  env -u CXX -u CXXFLAGS -u CMAKE_PREFIX_PATH -u Kokkos_ROOT -u Kokkos_DIR \
    "$here/setup.sh" --preset no-mpi --build "$folder" --jobs "$jobs" --target kernels_test -- \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    -DCMAKE_CXX_FLAGS="-march=$march" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=6 \
    -DKADAM_ENABLE_NATIVE_ARCH=OFF -DKADAM_ENABLE_DRIVERS=OFF -DKADAM_ENABLE_WORKLOADS=OFF \
    -DKADAM_ENABLE_KOKKOS_KERNELS=OFF -DKADAM_ENABLE_WARNINGS_AS_ERRORS=ON
}

# run_part N: of the tests the N-th of `jobs` parts; two threads, as under ctest, which would not wait so long.
run_part() {
  GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$1 OMP_NUM_THREADS=2 OMP_PROC_BIND=false OMP_WAIT_POLICY=passive \
    KOKKOS_DISABLE_WARNINGS=1 qemu-aarch64 -L / "$folder/bin/kernels_test" >"$folder/tests-$1.log" 2>&1 </dev/null
}

# run_tests: writes passed and failed; shows what failed tests have said.
run_tests() {
  local part pids=() log lost status
  passed=0 failed=0
  rm -f "$folder"/tests-*.log
  for ((part = 0; part < jobs; ++part)); do
    run_part "$part" &
    pids+=($!)
  done
  for ((part = 0; part < jobs; ++part)); do
    log=$folder/tests-$part.log status=0
    wait "${pids[part]}" || status=$?
    passed=$((passed + $(grep -cE '^\[       OK \] .* ms\)$' "$log" || true)))
    lost=$(grep -cE '^\[  FAILED  \] .* ms\)$' "$log" || true)
    sed -n '/^\[ RUN      \]/{h;d}; /^\[       OK \]/d; /^\[  SKIPPED \]/d; H; /^\[  FAILED  \].* ms)$/{x;p}' "$log"
    # One that ended the process did not say that it failed.
    if ! grep -qE '^\[==========\] .* ran\.' "$log" || ((status != 0 && lost == 0)); then
      lost=$((lost + 1))
      say "The tests ended with exit code $status:"
      tail -n 20 "$log"
    fi
    failed=$((failed + lost))
  done
  ((passed + failed)) || stop "No test was run; see $folder/tests-0.log."
}

ensure_packages "$KADAM_PACKAGES_ARM"
build
say "Running the tests of the kernels for $march under qemu."
run_tests
echo "$passed passed, $failed failed"
((failed == 0))
