// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/block_codec.hpp>
#include <kadam/collectives/sliced_chunks.hpp>

/// Messages of 32-bit words that travel slice by slice.
namespace kadam {

[[nodiscard]] std::int64_t words_of(std::size_t bytes);
[[nodiscard]] Words<MemorySpace> part_of(const Words<MemorySpace>& all, const Piece& piece);

/// Slices of whole scale blocks of a block-coded message.
void cut_messages(SlicedChunks& slices, const BlockMessage& message, std::size_t piece_bytes);

/// A slice of the own chunk is not sent: it goes to where the others' are received.
void keep_own_message(const ExecutionSpace& exec, const SlicedChunks& slices, int rank, const Slice& slice,
                      const Words<MemorySpace>& messages, const Words<MemorySpace>& received);

}  // namespace kadam
