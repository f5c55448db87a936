// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/messages.hpp>
#include <kadam/wire/block_message.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace kadam {

/// Moves bytes between ranks. Knows no Kokkos, no optimizer, no message format.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Whether pointers to device memory may be given.
  [[nodiscard]] virtual bool accepts_device_memory() const = 0;
  /// Whether several threads may exchange at the same time, each over a duplicate of its own.
  [[nodiscard]] virtual bool allows_threads() const = 0;
  /// One line for people: which transport, between whom.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Single messages between any two ranks.
  [[nodiscard]] virtual std::unique_ptr<Messages> messages() = 0;
  /// So many bytes of every rank, rank 0's first; the own ones lie there already. For few bytes, where the
  /// number of messages counts: log2 n in a row. Collective.
  virtual void all_gather(std::byte* all, std::size_t bytes) = 0;
  /// Sum over ranks, in place, in whatever order the transport likes best. Collective.
  virtual void all_reduce_sum(float* values, std::size_t count) = 0;

  /// The same ranks again: nothing that is sent over the one is received over the other. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> duplicate() = 0;
  /// The ranks that give the same colour, in the order of their ranks here. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> split(int colour) = 0;
  /// The ranks that share this rank's memory. Collective.
  [[nodiscard]] virtual std::unique_ptr<Transport> split_by_node() = 0;
};

}  // namespace kadam
