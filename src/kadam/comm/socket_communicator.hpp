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
  /// The host at which others reach this rank: a name, or an IPv4 address. Empty: this host's only address
  /// beside the loopback, or its name if it has several addresses or none.
  std::string host;
  /// How long a rank waits for others to connect, but at most ExchangeOptions::timeout_seconds; also in
  /// duplicate(), split(), split_by_node(), admit() and survivors() of the communicator.
  double connect_seconds = 60.0;
};

/// Returns the texts of all ranks, in rank order, given this rank's own. It brings ranks together that have
/// no MPI, by such means as the store of torch.distributed, PMIx, or a folder. Collective.
using GatherTexts = std::function<std::vector<std::string>(const std::string& own)>;

/// Makes a communicator over TCP, for ranks that have no MPI. It has one connection between each two ranks;
/// each of its duplicates has others. gather: called once, to exchange the ranks' addresses.
///
/// Collective; so is the destruction. Errors: std::invalid_argument unless 0 <= rank < size, and if gather
/// returns another number of texts than size; std::runtime_error, which names the address, if a connection
/// cannot be made in time. PeerFailure, later, if a connection ends: that rank has ended, or its host is
/// gone.
[[nodiscard]] std::shared_ptr<Communicator> make_socket_communicator(int rank, int size,
                                                                     const GatherTexts& gather,
                                                                     const SocketOptions& options = {});
/// The same for the ranks of another communicator, which is used only to exchange the ranks' addresses.
[[nodiscard]] std::shared_ptr<Communicator> make_socket_communicator(Communicator& ranks,
                                                                     const SocketOptions& options = {});

/// Makes this process a rank, behind the others, of ranks that are already training, and returns their new
/// communicator. They take it in when they next call Communicator::admit(). It does not know what they have
/// done before: see checkpoint::Snapshots::restore_on().
///
/// addresses: Communicator::door() of some of these ranks, which are asked one after the other; kind: the
/// text that they give to admit(). Waits for ExchangeOptions::timeout_seconds at most. One level, whatever
/// ranks_per_node says. Errors: std::invalid_argument if the ranks differ in kind, version of Kadam, length
/// of pieces or Staging::always; std::runtime_error if none of them lets it in, if for 5 seconds nobody
/// listens at any of the addresses, or if this process cannot connect with all ranks.
[[nodiscard]] std::shared_ptr<Communicator> join_socket_communicator(
    const std::vector<std::string>& addresses, const std::string& kind, const SocketOptions& options = {});

}  // namespace kadam
