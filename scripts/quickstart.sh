#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a fresh clone to results.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/quickstart.sh [options]

Installs and builds what is missing, then trains an image classifier and a language model on 4 MPI ranks, each with
dense Adam and with 1-bit Adam. For each it prints a table and makes a report, a page for the browser. --help prints
this text; other options go to scripts/setup.sh, whose --help lists them.
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/internal/common.sh
source scripts/internal/common.sh
preset=release
arguments=("$@")
for ((k = 0; k < $#; ++k)); do
  case ${arguments[k]} in
    --help | -h) usage && exit ;;
    --preset | --backend) preset=${arguments[k + 1]:-} ;;
    --) break ;;
  esac
done
# What it runs, and nothing else: tests take three times as long to build as the programs.
scripts/setup.sh --target kadam-train --target kadam-report "$@"

programs=$(build_folder "$preset")/bin
prepare_ranks

train() { mpirun -n 4 "$programs/kadam-train" --compare adam,onebit_adam "$@"; }

echo
say "1 of 2: an image classifier, a CNN on Fashion-MNIST."
echo
train --config examples/fashion_mnist.toml
echo
say "2 of 2: a language model, a transformer on the bytes of the King James Bible."
echo
train --config examples/transformer.toml --set data.path="$KADAM_CACHE/data/bible-kjv.txt"
echo
say "Done. The reports open in any browser; docs/quickstart.md goes on from here."
