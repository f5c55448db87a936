#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/test.sh [--preset NAME] [--no-setup] [CTEST_ARGUMENT...]

Calls scripts/setup.sh, then runs the tests. All other arguments go to ctest:
  scripts/test.sh -L layout            the tests of tests/layout
  scripts/test.sh -LE mpi              those of one process
  scripts/test.sh --preset asan -R io  under the sanitizers, names with "io"
The last line counts: N passed, N failed.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

preset=release
setup=true
ctest_arguments=()
while (($#)); do
  case $1 in
    --preset)
      (($# > 1)) || stop "--preset needs a value."
      preset=$2 && shift 2
      ;;
    --no-setup) setup=false && shift ;;
    --help | -h) usage && exit ;;
    *) ctest_arguments+=("$1") && shift ;;
  esac
done

if [[ $setup == true ]]; then "$here/setup.sh" --preset "$preset"; fi
help_openblas_with_new_processors

# Tests of several ranks wait much: some run side by side even on two cores.
parallel=$(nproc)
if ((parallel < 6)); then parallel=6; fi
report=$(build_folder "$preset")/tests.xml
rm -f "$report"
status=0
(cd "$KADAM_ROOT" && ctest --preset "$preset" --parallel "$parallel" --output-junit "$report" \
  "${ctest_arguments[@]}") </dev/null || status=$?

count() { sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$report" | head -n 1; }
[[ -s $report ]] || stop "ctest wrote no report."
failed=$(count failures)
skipped=$(($(count skipped) + $(count disabled)))
echo "$(($(count tests) - failed - skipped)) passed, $failed failed$( ((skipped == 0)) || echo ", $skipped skipped")"
exit "$status"
