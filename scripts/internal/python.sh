# shellcheck shell=bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Python environment of Kadam's own: nothing is installed into the user's. Sourced, never run.

KADAM_VENV=$KADAM_CACHE/python

# ensure_python REQUIREMENT...: holds at least these.
ensure_python() {
  local stamp
  stamp=$KADAM_VENV/kadam-$(sha256sum <<<"$*" | cut -c1-12)
  [[ ! -e $stamp ]] || return 0
  if [[ ! -x $KADAM_VENV/bin/pip ]]; then
    rm -rf "$KADAM_VENV"
    run_logged "$KADAM_CACHE/logs/python.log" "python3 -m venv" python3 -m venv "$KADAM_VENV"
  fi
  run_logged "$KADAM_CACHE/logs/pip.log" "pip install $*" "$KADAM_VENV/bin/pip" install "$@"
  touch "$stamp"
}
