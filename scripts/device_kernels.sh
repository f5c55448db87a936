#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What do the kernels need of a GPU? Asks nvcc's assembler; no GPU is needed.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/device_kernels.sh [options]

Compiles the hot kernels (tests/device/kernels.cpp) for an H200 (sm_90) and prints for each: registers of a thread, bytes
of stack and of spills, memory of a team, and how much of a multiprocessor its threads can fill at most. Fails if a
kernel has a stack frame or spills, or keeps less of a multiprocessor busy than a quarter. Options:

  --markdown   the table as docs/performance.md has it
  --help       this text

The last line counts kernels: N passed, N failed.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

arguments=()
while (($#)); do
  case $1 in
    --markdown) arguments+=("$1") && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/device_kernels.sh --help." ;;
  esac
done

# A folder of its own: what another build was told of optimisation would change the figures.
folder=$KADAM_ROOT/build-device-kernels
rm -f "$folder/tests/device/CMakeFiles/kadam_device_kernels.dir/kernels.cpp.o" # its compilation says the figures
"$here/setup.sh" --preset cuda --build "$folder" --target kadam_device_kernels -- -DKADAM_ENABLE_DRIVERS=OFF
exec python3 "$here/device_kernels/main.py" "${arguments[@]}" "$folder/build.log"
