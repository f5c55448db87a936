// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/wire/block_message.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace kadam {

/// Moves bytes between ranks. Knows no Kokkos, no optimizer, no message format.
///
/// Collective: every call, by all ranks, in the same order.
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
  /// One line for people: which transport, between whom.
  [[nodiscard]] virtual std::string description() const = 0;

  /// send_pieces[r] of send goes to rank r; receive_pieces[r] of receive comes from rank r, the own one
  /// included.
  virtual void all_to_all(const std::byte* send, std::span<const Piece> send_pieces, std::byte* receive,
                          std::span<const Piece> receive_pieces) = 0;
  /// pieces[r] of buffer comes from rank r; the own one lies there already.
  virtual void all_gather(std::byte* buffer, std::span<const Piece> pieces) = 0;
  /// Sum over ranks, in place, in whatever order the transport likes best.
  virtual void all_reduce_sum(float* values, std::size_t count) = 0;
};

}  // namespace kadam
