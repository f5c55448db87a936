// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/dataset.hpp>
#include <workloads/sampler.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace kadam::workloads {

/// Makes the sampler of a rank: of all training examples if `dirichlet_alpha` is 0, else of this rank's shard
/// from dirichlet_shard().
///
/// Errors: std::invalid_argument for data without labels, and as `Sampler` and `dirichlet_shard`.
[[nodiscard]] Sampler make_sampler(const Dataset& data, double dirichlet_alpha, const SamplerOptions& options,
                                   std::uint64_t seed);

/// How unequal the shards of the ranks are.
struct ShardOptions {
  double alpha = 1.0;  ///< above 0; the smaller, the more the ranks' data differ
  std::int64_t ranks = 1;
  std::int64_t rank = 0;      ///< this one
  std::int64_t smallest = 1;  ///< least number of examples per rank: its batch
};

/// The examples of one rank, ascending: each class is dealt out in proportions p ~ Dirichlet(alpha, ...,
/// alpha) over the ranks, drawn for each class anew (Hsu, Qi, Brown 2019). The shards of all ranks are
/// disjoint and cover everything; each is a pure function of the arguments. A deal that leaves a rank with
/// less than `smallest` examples is drawn again, as in Li et al. 2021.
///
/// Worked number: with two ranks the mean of the larger proportion is 0.97 for alpha 0.05, 0.75 for 1 and
/// 0.54 for 50.
///
/// Errors: std::invalid_argument when alpha is not positive, or 1000 deals leave a rank with too little.
[[nodiscard]] std::vector<std::int64_t> dirichlet_shard(std::span<const std::uint8_t> labels,
                                                        const ShardOptions& options, std::uint64_t seed);

}  // namespace kadam::workloads
