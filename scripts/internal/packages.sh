# shellcheck shell=bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Packages of the system: only what is missing is installed, by apt where there is one; elsewhere their names are said.
# Sourced, never run. A TABLE is one of scripts/dependencies.sh.

# A package is dispensable when what it would bring is there from elsewhere (modules, Spack, a source build).
found_elsewhere() {
  case $1 in
    command:*) command -v "${1#*:}" >/dev/null ;;
    header:*) echo "#include <${1#*:}>" | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1 ;;
    library:*) echo 'int main() {}' | "${CXX:-c++}" -x c++ - -l"${1#*:}" -o /dev/null 2>/dev/null ;;
    python:*) python3 -c "import ${1#*:}" 2>/dev/null ;;
    python-header:*) [[ -e $(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/${1#*:} ]] ;;
    file:*) [[ -e ${1#*:} ]] ;;
  esac
}

# missing_rows TABLE...: the rows of the packages that are neither installed nor dispensable.
missing_rows() {
  local debian fedora suse probe status
  while read -r debian fedora suse probe; do
    [[ -n $debian ]] || continue
    status=$(dpkg-query -W -f '${Status}' "$debian" 2>/dev/null || true)
    if [[ $status != "install ok installed" ]] && ! found_elsewhere "$probe"; then
      echo "$debian $fedora $suse $probe"
    fi
  done < <(printf '%s\n' "$@")
}

# names_in_column N ROW...: without those that a system does not have, each once.
names_in_column() {
  local column=$1
  shift
  printf '%s\n' "$@" | awk -v column="$column" '$column != "-" && !seen[$column]++ { print $column }' | paste -s -d ' '
}

# say_install SYSTEM COMMAND N ROW...: what to type there; nothing where that system has none of them.
say_install() {
  local system=$1 command=$2 names
  names=$(names_in_column "$3" "${@:4}")
  [[ -z $names ]] || say "  $system: $command install $names"
}

# foreign_architectures ROW...: arm64 of libfmt-dev:arm64, where dpkg does not take packages for it yet; each once.
foreign_architectures() {
  local known
  known=$(dpkg --print-architecture 2>/dev/null && dpkg --print-foreign-architectures) || true
  printf '%s\n' "$@" | sed -n 's/^[^ :]*:\([^ ]*\) .*/\1/p' | sort -u | grep -vxF "$known" || true
}

# say_what_is_missing ROW...: what to type on this system, or on each that is known.
say_what_is_missing() {
  local family other architecture
  # shellcheck disable=SC1090,SC1091 # the system's
  family=$(. "${KADAM_OS_RELEASE:-/etc/os-release}" 2>/dev/null && echo " ${ID:-} ${ID_LIKE:-} ")
  case $family in
    *' debian '* | *' ubuntu '*)
      for architecture in $(foreign_architectures "$@"); do say "  dpkg --add-architecture $architecture; apt-get update"; done
      say_install "Debian, Ubuntu" apt-get 1 "$@" && return
      ;;
    *' fedora '* | *' rhel '*) say_install "Fedora, RHEL" dnf 2 "$@" ;;
    *suse*) say_install openSUSE zypper 3 "$@" ;;
    *)
      say_install "Debian, Ubuntu" apt-get 1 "$@"
      say_install "Fedora, RHEL" dnf 2 "$@"
      say_install openSUSE zypper 3 "$@"
      ;;
  esac
  other=$(printf '%s\n' "$@" | awk '$2 == "-" && $3 == "-" { print $1 }' | paste -s -d ' ')
  [[ -z $other ]] || say "  only Debian has these: $other; docs/install.md says how to do without them."
}

install_rows() {
  local names architecture
  mapfile -t names < <(printf '%s\n' "$@" | cut -d ' ' -f 1)
  say "Installing ${names[*]}."
  for architecture in $(foreign_architectures "$@"); do dpkg --add-architecture "$architecture"; done
  local apt=(apt-get -y -o DPkg::Lock::Timeout=300)
  run_logged "$KADAM_CACHE/logs/apt-update.log" "apt-get update" "${apt[@]}" update
  run_logged "$KADAM_CACHE/logs/apt-install.log" "apt-get install ${names[*]}" \
    env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install --no-install-recommends "${names[@]}"
}

# ensure_packages TABLE...: installs what is missing, or says what to type and stops.
ensure_packages() {
  local rows
  mapfile -t rows < <(missing_rows "$@")
  ((${#rows[@]})) || return 0
  if command -v apt-get >/dev/null && ((EUID == 0)); then
    install_rows "${rows[@]}"
    return
  fi
  say "These packages are missing: $(names_in_column 1 "${rows[@]}") (Debian's names). Install them as root:"
  say_what_is_missing "${rows[@]}"
  stop "Install them, or load modules that provide them, and call the script again."
}

# want_packages TABLE...: the same for what only examples need; goes on where there is no apt.
want_packages() {
  local rows
  if command -v apt-get >/dev/null; then
    ensure_packages "$@"
    return
  fi
  mapfile -t rows < <(missing_rows "$@")
  ((${#rows[@]})) || return 0
  say "The examples need $(names_in_column 1 "${rows[@]}") (Debian's names); everything else works without them."
  say_what_is_missing "${rows[@]}"
}
