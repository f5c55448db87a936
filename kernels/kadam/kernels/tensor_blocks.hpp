// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/on_device.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

/// The tensors of a flat vector, cut into blocks of 256 elements. No block has elements of two tensors: the
/// last block of a tensor may be shorter.
///
/// A kernel asks for a block by its number; block() bisects the tensors for it. Neighbouring blocks take the
/// same branches, which a processor predicts. Memory: 16 B per tensor.
template <class MemorySpace>
struct TensorBlocks {
  static constexpr std::int64_t block_elements = 256;  ///< a GPU's warp holds 8 in each thread: MomentTeam

  struct Block {
    std::int64_t begin;
    std::int64_t end;

    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t elements() const { return end - begin; }
  };

  Kokkos::View<const std::int64_t*, MemorySpace> first_block;    ///< of each tensor, and the number of blocks
  Kokkos::View<const std::int64_t*, MemorySpace> first_element;  ///< of each tensor, and d

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Block block(std::int64_t index) const {
    std::int64_t low = 0;
    std::int64_t high = static_cast<std::int64_t>(first_block.extent(0)) - 1;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      if (first_block(middle) <= index) {
        low = middle;
      } else {
        high = middle;
      }
    }
    const std::int64_t begin = first_element(low) + (index - first_block(low)) * std::int64_t{block_elements};
    return {begin, Kokkos::min(begin + std::int64_t{block_elements}, first_element(low + 1))};
  }

  /// The number of each tensor's first block, and the number of blocks. boundaries: as of make(). Worked
  /// number: 0, 300, 300, 310 gives 0, 2, 2, 3.
  [[nodiscard]] static std::vector<std::int64_t> first_blocks(const std::vector<std::int64_t>& boundaries) {
    std::vector<std::int64_t> first = {0};
    for (std::size_t tensor = 0; tensor + 1 < boundaries.size(); ++tensor) {
      const std::int64_t elements = boundaries[tensor + 1] - boundaries[tensor];
      first.push_back(first.back() + (elements + block_elements - 1) / block_elements);
    }
    return first;
  }
  /// boundaries: the first element of each tensor, and d. Waits for the copies.
  [[nodiscard]] static TensorBlocks make(const std::vector<std::int64_t>& boundaries) {
    return {on_device<MemorySpace>("kadam::TensorBlocks::first_block", first_blocks(boundaries)),
            on_device<MemorySpace>("kadam::TensorBlocks::first_element", boundaries)};
  }
  [[nodiscard]] static std::size_t memory_bytes(std::size_t tensors) {
    return 2 * (tensors + 1) * sizeof(std::int64_t);
  }
};

}  // namespace kadam
