# shellcheck shell=bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The hosts, links and rates of scripts/netlab.sh. Sourced, never run.
#
# Reads:  lab, the name of this lab
# A host is a network namespace and a UTS namespace (a name of its own). Its eth0 is one end of a cable whose other
# end, p<i>, is a port of a bridge; the bridge lies in a namespace of its own: nothing outside is touched. Cables with a
# delay are carried by netlab_relay.py.

NETLAB_RUN=/run/kadam-netlab
NETLAB_QUEUE_MS=200 # what a port holds back before it drops

state() { echo "$NETLAB_RUN/$lab"; }
namespace() { echo "kadam-$lab-$1"; }
host_name() { echo "$lab-h$1"; }
host_address() { echo "198.18.$((($1 + 1) / 256)).$((($1 + 1) % 256))"; }
host_count() { cat "$(state)/hosts" 2>/dev/null || stop "The lab $lab is not up; start it with scripts/netlab.sh up."; }

# Every namespace of this lab that exists, also of one that was left half made.
namespaces_of_lab() { ip netns list 2>/dev/null | sed -n "s/^\(kadam-$lab-\(h[0-9]*\|switch\)\)\( .*\)\?$/\1/p"; }

# why_not DELAY: one sentence if this system does not allow a lab, else nothing. All it tries vanishes with its
# namespaces. DELAY is empty for cables without.
why_not() {
  local tool said
  for tool in ip tc unshare nsenter; do
    command -v "$tool" >/dev/null || { echo "$tool is missing (install iproute2 and util-linux)" && return; }
  done
  ((EUID == 0)) || { echo "only root may make network namespaces" && return; }
  [[ -z $1 || -c /dev/net/tun ]] || { echo "a delay needs /dev/net/tun, which does not exist" && return; }
  said=$(unshare --net --uts --mount sh -ec '
    hostname kadam-probe
    test -w /run || { echo "/run cannot be written" && exit 1; }
    mkdir -p /run/netns && mount --bind /run/netns /run/netns
    ip link add eth0 type veth peer name p0
    ip link add br0 type bridge
    tc qdisc add dev eth0 root tbf rate 1mbit burst 16384 limit 65536' 2>&1) ||
    echo "this system does not allow network namespaces ($(tail -n 1 <<<"$said"))"
}

# in_host I COMMAND...: replaces this shell.
in_host() {
  exec nsenter --net="/run/netns/$(namespace "h$1")" --uts="$(state)/uts-h$1" -- "${@:2}"
}

# ---- making and removing ------------------------------------------------------------------------------------

# No packet but ours, and TCP's one congestion control that every kernel allows in a namespace.
quiet_namespace() {
  ip netns add "$1"
  ip netns exec "$1" sh -c '
    echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
    echo reno >/proc/sys/net/ipv4/tcp_congestion_control' 2>/dev/null || true
  ip -n "$1" link set lo up
}

make_switch() {
  local switch
  switch=$(namespace switch)
  quiet_namespace "$switch"
  ip -n "$switch" link add br0 type bridge
  ip -n "$switch" link set br0 up
}

make_host() {
  local uts
  uts=$(state)/uts-h$1
  quiet_namespace "$(namespace "h$1")"
  touch "$uts"
  unshare --uts="$uts" hostname "$(host_name "$1")"
}

make_cable() { ip link add eth0 netns "$(namespace "h$1")" type veth peer name "p$1" netns "$(namespace switch)"; }

# make_slow_cables HOSTS MICROSECONDS
make_slow_cables() {
  local tries
  echo "$2" >"$(state)/delay"
  setsid python3 "$(dirname "${BASH_SOURCE[0]}")/netlab_relay.py" "$(state)" "kadam-$lab" "$1" \
    >"$(state)/relay-log" 2>&1 </dev/null &
  echo $! >"$(state)/relay-pid"
  disown
  for ((tries = 0; tries < 100; ++tries)); do
    [[ ! -e $(state)/relay-ready ]] || return 0
    sleep 0.1
  done
  stop "Cables with a delay could not be made: $(tail -n 1 "$(state)/relay-log")"
}

connect() {
  local host
  host=$(namespace "h$1")
  ip -n "$host" address add "$(host_address "$1")/15" dev eth0
  ip -n "$host" link set eth0 up
  ip -n "$(namespace switch)" link set "p$1" master br0 up
}

# The name is taken by whoever makes its folder.
claim_lab() {
  mkdir -p "$NETLAB_RUN"
  mkdir "$(state)" 2>/dev/null || stop "The lab $lab is up already: take it down, or name another with --name."
}

# make_lab HOSTS DELAY: in microseconds; empty for cables that never have one.
make_lab() {
  local i
  echo "$1" >"$(state)/hosts"
  make_switch
  for ((i = 0; i < $1; ++i)); do make_host "$i"; done
  if [[ -n $2 ]]; then make_slow_cables "$1" "$2"; fi
  for ((i = 0; i < $1; ++i)); do
    if [[ -z $2 ]]; then make_cable "$i"; fi
    connect "$i"
  done
}

# end_processes: what still runs in the namespaces is asked to end, then made to.
end_processes() {
  local signal pids tries
  for signal in TERM KILL; do
    for ((tries = 0; tries < 20; ++tries)); do
      pids=$(namespaces_of_lab | xargs -r -n 1 ip netns pids 2>/dev/null)
      [[ -n $pids ]] || return 0
      # shellcheck disable=SC2086 # one word per process
      if ((tries == 0)); then kill -"$signal" $pids 2>/dev/null || true; fi
      sleep 0.1
    done
  done
}

end_relay() {
  if [[ -e $(state)/relay-pid ]]; then kill -KILL "$(cat "$(state)/relay-pid")" 2>/dev/null || true; fi
}

remove_lab() {
  local name uts
  end_processes
  end_relay
  for name in $(namespaces_of_lab); do ip netns delete "$name"; done
  for uts in "$(state)"/uts-*; do umount "$uts" 2>/dev/null || true; done
  rm -rf "$(state)"
  rmdir "$NETLAB_RUN" 2>/dev/null || true # the last one
}

# ---- rates --------------------------------------------------------------------------------------------------

# bits_per_second RATE: of 100mbit; nothing for none.
bits_per_second() {
  [[ $1 =~ ^([1-9][0-9]{0,5})(kbit|mbit|gbit)$ ]] || return 0
  case ${BASH_REMATCH[2]} in
    kbit) echo $((BASH_REMATCH[1] * 1000)) ;;
    mbit) echo $((BASH_REMATCH[1] * 1000000)) ;;
    gbit) echo $((BASH_REMATCH[1] * 1000000000)) ;;
  esac
}

# shape_device NAMESPACE DEVICE RATE: a token bucket of half a millisecond, at least 16 KiB: only so much exceeds the
# rate, once, and TCP makes no longer packets, which the bucket would have to cut up.
shape_device() {
  local bits burst packet
  bits=$(bits_per_second "$3")
  if [[ -z $bits ]]; then
    tc -n "$1" qdisc delete dev "$2" root 2>/dev/null || true
    ip -n "$1" link set dev "$2" gso_max_size 65536
    return
  fi
  burst=$((bits / 16000))
  burst=$((burst > 16384 ? burst : 16384))
  packet=$((burst * 3 / 4))
  ip -n "$1" link set dev "$2" gso_max_size $((packet < 65536 ? packet : 65536))
  tc -n "$1" qdisc replace dev "$2" root tbf rate "${bits}bit" burst "$burst" \
    limit $((burst + bits * NETLAB_QUEUE_MS / 8000))
}

# shape_lab RATE: both ends of every cable.
shape_lab() {
  local i hosts
  hosts=$(host_count)
  for ((i = 0; i < hosts; ++i)); do
    shape_device "$(namespace "h$i")" eth0 "$1"
    shape_device "$(namespace switch)" "p$i" "$1"
  done
  echo "$1" >"$(state)/rate"
}

# microseconds DELAY: of 2ms or 500us; nothing for what is none.
microseconds() {
  [[ $1 =~ ^([0-9]{1,6})(us|ms)$ ]] || return 0
  [[ ${BASH_REMATCH[2]} == us ]] && echo $((10#${BASH_REMATCH[1]})) || echo $((10#${BASH_REMATCH[1]} * 1000))
}

# delay_lab MICROSECONDS
delay_lab() {
  local relay
  host_count >/dev/null
  relay=$(cat "$(state)/relay-pid" 2>/dev/null) ||
    stop "The cables of the lab $lab cannot delay: start the lab with up --delay 0ms, then they can."
  echo "$1" >"$(state)/delay"
  kill -HUP "$relay"
}

# ---- counters -----------------------------------------------------------------------------------------------

interface_bytes() { ip netns exec "$(namespace "h$1")" cat "/sys/class/net/eth0/statistics/${2}_bytes"; }

# One JSON object: what eth0 of each host has sent and received since it was made.
bytes_of_lab() {
  local i hosts separator=''
  hosts=$(host_count)
  printf '{"hosts": ['
  for ((i = 0; i < hosts; ++i)); do
    printf '%s{"host": "%s", "sent": %s, "received": %s}' "$separator" "$(host_name "$i")" \
      "$(interface_bytes "$i" tx)" "$(interface_bytes "$i" rx)"
    separator=', '
  done
  printf ']}\n'
}
