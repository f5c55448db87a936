#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/test.sh [--preset NAME] [--build FOLDER] [--no-setup] [CTEST_ARGUMENT...] [-- CMAKE_ARGUMENT...]

Calls scripts/setup.sh, then runs the tests. All other arguments go to ctest, those after -- to setup.sh:
  scripts/test.sh -L layout            the tests of tests/layout
  scripts/test.sh -LE mpi              the tests of one process
  scripts/test.sh --preset asan -R io  tests with "io" in their names, under the sanitizers
  scripts/test.sh -- -DCMAKE_CXX_FLAGS=-march=x86-64-v3
Then it shows the output of failed tests. Tests that lack something on this machine are skipped; it names each, and the
reason. The last line counts: N passed, N failed, N skipped.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

preset=release
folder=''
setup=true
ctest_arguments=()
setup_arguments=()
while (($#)); do
  case $1 in
    --preset | --build) (($# > 1)) || stop "$1 needs a value." ;;&
    --preset) preset=$2 && shift 2 ;;
    --build) folder=$(realpath -m "$2") || exit; shift 2 ;;
    --no-setup) setup=false && shift ;;
    --help | -h) usage && exit ;;
    --) setup_arguments=("$@") && break ;;
    *) ctest_arguments+=("$1") && shift ;;
  esac
done

folder=${folder:-$(build_folder "$preset")}
if [[ $setup == true ]]; then "$here/setup.sh" --preset "$preset" --build "$folder" "${setup_arguments[@]}"; fi
help_openblas_with_new_processors

# Tests of several ranks wait much: some run side by side even on two cores.
parallel=$(nproc)
if ((parallel < 6)); then parallel=6; fi
report=$folder/tests.xml
rm -f "$report"
status=0
ctest --test-dir "$folder" --no-tests=error --parallel "$parallel" --output-junit "$report" "${ctest_arguments[@]}" \
  </dev/null || status=$?

[[ -s $report ]] || stop "ctest wrote no report."
python3 "$here/internal/count_tests.py" "$report"
exit "$status"
