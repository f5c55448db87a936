// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kadam {

struct SocketOptions {
  ExchangeOptions exchange;
  /// 1: one level; 0, or more than 1: two, see Communicator::form_levels().
  int ranks_per_node = 1;
  /// Where others reach this rank, a name or an address of IPv4; empty: this host's only address beside the
  /// loopback, where it has one, else its name.
  std::string host;
  /// How long a rank waits for others to connect; not longer than for their messages.
  double connect_seconds = 60.0;
};

/// The texts of all ranks, in their order, from this rank's own: what brings ranks together that have no MPI,
/// such as the store of torch.distributed, PMIx, or a folder. Collective.
using GatherTexts = std::function<std::vector<std::string>(const std::string& own)>;

/// A communicator over TCP, for ranks that have no MPI: one connection between each two, for each duplicate.
///
/// Collective; so is the destruction. Errors: std::invalid_argument unless 0 <= rank < size, and if gather
/// returns another number of texts; std::runtime_error if a connection cannot be made in time, with its
/// address. PeerFailure, later, when a connection ends: the rank has ended or its host is gone.
[[nodiscard]] std::shared_ptr<Communicator> make_socket_communicator(int rank, int size,
                                                                     const GatherTexts& gather,
                                                                     const SocketOptions& options = {});
/// The ranks of another communicator, which brings them together and carries nothing more.
[[nodiscard]] std::shared_ptr<Communicator> make_socket_communicator(Communicator& ranks,
                                                                     const SocketOptions& options = {});

/// The communicator of ranks that are at work, which this process joins behind them: when they next call
/// Communicator::admit(). What they have done until then it does not know: see
/// checkpoint::Snapshots::restore_on().
///
/// addresses: Communicator::door() of some of these ranks, which are asked one after the other; kind: as
/// theirs. Waits for ExchangeOptions::timeout_seconds. One level, whatever ranks_per_node says. Errors:
/// std::invalid_argument where they are of another kind, or of another version of Kadam;
/// std::runtime_error where none of them lets it in.
[[nodiscard]] std::shared_ptr<Communicator> join_socket_communicator(
    const std::vector<std::string>& addresses, const std::string& kind, const SocketOptions& options = {});

}  // namespace kadam
