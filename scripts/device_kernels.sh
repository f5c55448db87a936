#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What do the kernels need of a GPU? Asks nvcc's assembler; no GPU is needed.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/device_kernels.sh [options]

Compiles all kernels (tests/device/kernels.cpp) for an H200 (sm_90) and prints two tables. The first comes from nvcc's
assembler and has for each kernel: registers of a thread, bytes of stack and of spills, static shared memory, bytes that
a launch passes (the functor: its parameters in `cuobjdump -elf`), and the largest share of a multiprocessor that its
threads can fill. The second comes from the machine code of the hottest kernels: how often and how wide they read and
write memory for each element.

Fails if a kernel needs more than scripts/device_kernels/limits.py allows, spills, is launched through constant memory
(512 bytes or more, not launched as light-weight), or is missing in kernels.cpp. Options:

  --markdown   prints the tables as docs/performance.md has them, with the figure that is there before an arrow
  --write      also puts them into docs/performance.md
  --help       this text

The last line counts rows: N passed, N failed.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/python.sh
source "$here/internal/python.sh"

arguments=()
while (($#)); do
  case $1 in
    --markdown | --write) arguments+=("$1") && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/device_kernels.sh --help." ;;
  esac
done

# A folder of its own: what another build was told of optimisation would change the figures.
folder=$KADAM_ROOT/build-device-kernels
object=$folder/tests/device/CMakeFiles/kadam_device_kernels.dir/kernels.cpp.o
rm -f "$object" # its compilation says the figures
"$here/setup.sh" --preset cuda --build "$folder" --target kadam_device_kernels -- -DKADAM_ENABLE_DRIVERS=OFF
if ! command -v cuobjdump >/dev/null || ! command -v nvdisasm >/dev/null; then
  with_lock "$KADAM_CACHE/lock" ensure_python "${KADAM_PYTHON_CUOBJDUMP_NEEDS[@]}"
  programs=("$KADAM_VENV"/lib/python3*/site-packages/nvidia/cu13/bin)
  PATH=${programs[0]}:$PATH
fi
exec python3 "$here/device_kernels/main.py" "${arguments[@]}" "$folder/build.log" "$object"
