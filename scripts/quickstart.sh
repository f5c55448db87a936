#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a fresh clone to results.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/quickstart.sh [options]

Installs and builds what is missing, then trains an image classifier and a language model on 4 MPI ranks, each under
dense Adam and under 1-bit Adam: a table each, and a report as a page for the browser. --help prints this text; other
options go to scripts/setup.sh, whose --help lists them.
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
for word in "$@"; do
  if [[ $word == --help || $word == -h ]]; then usage && exit; fi
done
# What it runs, and nothing else: tests take three times as long to build as the programs.
scripts/setup.sh --target kadam-train --target kadam-report "$@"

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
