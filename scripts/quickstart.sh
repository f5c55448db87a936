#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a fresh clone to results: installs and builds what is missing, then trains an image classifier and a
# language model on 4 MPI ranks, each under dense Adam and under compressed ones. Options go to scripts/setup.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh "$@"

# shellcheck source=scripts/mpi_environment.sh
source scripts/mpi_environment.sh
# shellcheck source=scripts/internal/common.sh
source scripts/internal/common.sh
help_openblas_with_new_processors
# 4 ranks share this machine's cores.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_PROC_BIND=false

mpirun -n 4 build/bin/kadam-train --config examples/fashion_mnist.toml --compare adam,onebit_adam
mpirun -n 4 build/bin/kadam-train --config examples/transformer.toml --compare adam,onebit_adam \
  --set data.path="${XDG_CACHE_HOME:-$HOME/.cache}/kadam/data/bible-kjv.txt"
