#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What ssh is to real hosts: netlab_agent.sh HOST COMMAND... runs the words of a shell in a host of the lab that
# KADAM_NETLAB names. For Open MPI's launcher.
set -euo pipefail
# shellcheck source=scripts/internal/netlab_network.sh
source "$(dirname "${BASH_SOURCE[0]}")/netlab_network.sh"

# shellcheck disable=SC2034 # in_host reads it
lab=$KADAM_NETLAB
in_host "${1##*-h}" sh -c "${*:2}"
