// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <plan/step_phase.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace kadam::plan {

/// What a class of src/kadam/collectives sends, computes and holds on rank 0, without making it: every size
/// comes from the layouts that the class itself uses.
struct CollectivePlan {
  std::vector<Transfer> transfers;
  std::vector<Work> work;
  std::size_t state_bytes = 0;
  std::size_t workspace_bytes = 0;
};

/// Each rank's piece to its owner, the own piece of the result to all.
[[nodiscard]] std::vector<Transfer> owner_transfers(std::span<const Piece> pieces);

/// DenseMean of numbers of this format, with buffers for the widest.
[[nodiscard]] CollectivePlan dense_mean_plan(const ChunkLayout& chunks, NumberFormat format,
                                             NumberFormat widest);
/// CompressedMean. The decoding is the caller's.
[[nodiscard]] CollectivePlan compressed_mean_plan(const ChunkLayout& chunks, std::int64_t block_elements,
                                                  std::string_view code);
/// LowBitReduceScatter, and the all-gather of what its owners make of it.
[[nodiscard]] CollectivePlan low_bit_plan(const ChunkLayout& chunks, std::int64_t block_elements,
                                          std::string_view code, NumberFormat gathered);
/// SparseMean.
[[nodiscard]] CollectivePlan sparse_mean_plan(std::int64_t elements, int ranks, const SparseOptions& options);

}  // namespace kadam::plan
