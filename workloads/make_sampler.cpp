// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/dirichlet_shard.hpp>
#include <workloads/make_sampler.hpp>
#include <workloads/random.hpp>

#include <limits>
#include <stdexcept>

namespace kadam::workloads {

Sampler make_sampler(const Dataset& data, double dirichlet_alpha, const SamplerOptions& options,
                     std::uint64_t seed) {
  if (dirichlet_alpha == 0.0) {
    return {options, seed};
  }
  options.validate();
  if (data.training_labels().empty()) {
    throw std::invalid_argument(
        "kadam::workloads::make_sampler: dirichlet_alpha deals out the examples of each class, but these "
        "data have no classes: take images, or 0");
  }
  // The sampler numbers its streams by epoch, from 0.
  const std::uint64_t shard_seed = random_bits(seed, std::numeric_limits<std::uint64_t>::max());
  return {
      options, seed,
      dirichlet_shard(data.training_labels(),
                      {dirichlet_alpha, options.ranks, options.rank, options.batch_per_rank}, shard_seed)};
}

}  // namespace kadam::workloads
