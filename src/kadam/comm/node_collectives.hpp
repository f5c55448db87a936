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

/// Dense collectives between the devices of one node, by a library of their vendor: faster than messages
/// where the devices are linked. Async: mean_to_owners() and gather() only enqueue work on exec.
class NodeCollectives {
 public:
  NodeCollectives() = default;
  NodeCollectives(const NodeCollectives&) = delete;
  NodeCollectives& operator=(const NodeCollectives&) = delete;
  virtual ~NodeCollectives() = default;

  /// The library's name, for people.
  [[nodiscard]] virtual std::string name() const = 0;
  /// out on rank r <- piece r of the mean of `values` over ranks. The order of summation is the library's,
  /// the same in every run. Collective. Shape: `values` holds numbers of this format, each piece a whole
  /// number of them; `out` has the length of this rank's own piece.
  virtual void mean_to_owners(const ExecutionSpace& exec, NumberFormat format, const std::byte* values,
                              std::span<const Piece> pieces, std::byte* out) = 0;
  /// Receives piece r of `buffer` from rank r, and sends this rank's own piece, which has to lie in its
  /// place, to all others. Collective.
  virtual void gather(const ExecutionSpace& exec, std::byte* buffer, std::span<const Piece> pieces) = 0;

  /// Throws if the library has noticed that another rank has failed. All work that is enqueued, which would
  /// never end, is given up then, and no more is accepted. Errors: std::runtime_error with the library's
  /// words, in all later calls as well.
  virtual void require_peers() = 0;
  /// Waits until all work that is enqueued is done. Errors: as require_peers().
  virtual void settle() = 0;
};

/// Makes collectives by NCCL between these ranks, or returns null on all of them if some share a device.
/// Collective.
///
/// Errors: std::runtime_error with NCCL's words.
[[nodiscard]] std::unique_ptr<NodeCollectives> make_nccl_collectives(Communicator& ranks);

}  // namespace kadam
