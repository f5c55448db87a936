// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/dataset.hpp>
#include <workloads/sampler.hpp>

#include <cstdint>

namespace kadam::workloads {

/// The sampler of a rank: of all training examples if `dirichlet_alpha` is 0, else of a shard of its own, see
/// `dirichlet_shard`.
///
/// Errors: std::invalid_argument for data without labels, and as `Sampler` and `dirichlet_shard`.
[[nodiscard]] Sampler make_sampler(const Dataset& data, double dirichlet_alpha, const SamplerOptions& options,
                                   std::uint64_t seed);

}  // namespace kadam::workloads
