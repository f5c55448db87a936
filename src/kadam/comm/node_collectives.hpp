// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/wire/block_message.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace kadam {

class Communicator;

/// Dense collectives between devices of one node, by a library of the device's vendor: faster than messages
/// where devices are linked. Async: all is enqueued on exec.
class NodeCollectives {
 public:
  NodeCollectives() = default;
  NodeCollectives(const NodeCollectives&) = delete;
  NodeCollectives& operator=(const NodeCollectives&) = delete;
  virtual ~NodeCollectives() = default;

  /// One word for people.
  [[nodiscard]] virtual std::string name() const = 0;
  /// out on rank r <- piece r of the mean over ranks, in whatever order of summation, the same in every run.
  /// Collective. Shape: values are numbers of this format, pieces of whole numbers.
  virtual void mean_to_owners(const ExecutionSpace& exec, NumberFormat format, const std::byte* values,
                              std::span<const Piece> pieces, std::byte* out) = 0;
  /// Piece r of buffer comes from rank r; the own one lies there already. Collective.
  virtual void gather(const ExecutionSpace& exec, std::byte* buffer, std::span<const Piece> pieces) = 0;

  /// Throws if the library has seen that a peer has failed. It gives up what is enqueued, which else never
  /// ends, and takes no more. Errors: std::runtime_error with the library's words, also in later calls.
  virtual void require_peers() = 0;
  /// Returns when all that is enqueued is done. Errors: as require_peers().
  virtual void settle() = 0;
};

/// NCCL between these ranks; null on all of them if some share a device. Collective.
/// Errors: std::runtime_error with NCCL's words.
[[nodiscard]] std::unique_ptr<NodeCollectives> make_nccl_collectives(Communicator& ranks);

}  // namespace kadam
