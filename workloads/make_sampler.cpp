// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/make_sampler.hpp>
#include <workloads/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

namespace kadam::workloads {
namespace {

using Examples = std::vector<std::int64_t>;

/// Random numbers in a fixed order.
class Source {
 public:
  explicit Source(std::uint64_t stream) : stream_(stream) {}

  /// In (0, 1).
  double uniform() { return (static_cast<double>(random_bits(stream_, counter_++) >> 11) + 0.5) * 0x1p-53; }

  /// Box and Muller 1958.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

  /// log of a number of the gamma distribution (Marsaglia and Tsang 2000): below alpha = 1/100 the number
  /// itself is often too small for a double.
  double log_gamma(double alpha) {
    const double d = alpha + 1.0 - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
      const double x = normal();
      const double v = std::pow(1.0 + c * x, 3);
      if (v > 0.0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
        return std::log(d * v) + std::log(uniform()) / alpha;  // from alpha + 1 to alpha
      }
    }
  }

 private:
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
};

/// Where the part of each rank begins and ends in a class of `examples`, ranks + 1 numbers.
std::vector<std::int64_t> cuts(Source& source, double alpha, std::int64_t ranks, std::size_t examples) {
  std::vector<double> shares(static_cast<std::size_t>(ranks));
  for (double& share : shares) {
    share = source.log_gamma(alpha);
  }
  const double largest = *std::max_element(shares.begin(), shares.end());
  double sum = 0.0;
  for (double& share : shares) {
    share = std::exp(share - largest);
    sum += share;
  }
  std::vector<std::int64_t> result = {0};
  result.reserve(shares.size() + 1);
  double before = 0.0;
  for (const double share : shares) {
    before += share;
    result.push_back(std::llround(before / sum * static_cast<double>(examples)));
  }
  return result;
}

std::vector<Examples> by_class(std::span<const std::uint8_t> labels) {
  std::vector<Examples> classes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= classes.size()) {
      classes.resize(labels[i] + std::size_t{1});
    }
    classes[labels[i]].push_back(static_cast<std::int64_t>(i));
  }
  return classes;
}

/// One deal: the shard of this rank; nothing if it leaves a rank with too few examples.
std::optional<Examples> deal(std::vector<Examples> classes, const ShardOptions& options,
                             std::uint64_t stream) {
  Source source(random_bits(stream, 0));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(options.ranks), 0);
  Examples shard;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const auto cut = cuts(source, options.alpha, options.ranks, classes[c].size());
    shuffle(std::span(classes[c]), random_bits(stream, 1 + c));
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      sizes[rank] += cut[rank + 1] - cut[rank];
    }
    const auto own = static_cast<std::size_t>(options.rank);
    shard.insert(shard.end(), classes[c].begin() + cut[own], classes[c].begin() + cut[own + 1]);
  }
  if (*std::min_element(sizes.begin(), sizes.end()) < options.smallest) {
    return std::nullopt;
  }
  std::sort(shard.begin(), shard.end());
  return shard;
}

}  // namespace

Sampler make_sampler(const Dataset& data, double dirichlet_alpha, const SamplerOptions& options,
                     std::uint64_t seed) {
  if (dirichlet_alpha == 0.0) {
    return {options, seed};
  }
  options.validate();
  if (data.training_labels().empty()) {
    throw std::invalid_argument(
        "kadam::workloads::make_sampler: dirichlet_alpha deals out the examples of each class, but these "
        "data have no classes: use images, or set it to 0");
  }
  // The sampler numbers its streams by epoch, from 0.
  const std::uint64_t shard_seed = random_bits(seed, std::numeric_limits<std::uint64_t>::max());
  return {
      options, seed,
      dirichlet_shard(data.training_labels(),
                      {dirichlet_alpha, options.ranks, options.rank, options.batch_per_rank}, shard_seed)};
}

std::vector<std::int64_t> dirichlet_shard(std::span<const std::uint8_t> labels, const ShardOptions& options,
                                          std::uint64_t seed) {
  const std::string who = "kadam::workloads::dirichlet_shard: ";
  if (!(options.alpha > 0.0) || !std::isfinite(options.alpha)) {
    throw std::invalid_argument(who + "alpha is " + std::to_string(options.alpha) +
                                ", expected a number above 0");
  }
  const std::vector<Examples> classes = by_class(labels);
  constexpr std::uint64_t deals = 1000;
  for (std::uint64_t i = 0; i < deals; ++i) {
    if (auto shard = deal(classes, options, random_bits(seed, i))) {
      return *std::move(shard);
    }
  }
  throw std::invalid_argument(who + "with alpha " + std::to_string(options.alpha) + ", one of " +
                              std::to_string(options.ranks) + " ranks got fewer than " +
                              std::to_string(options.smallest) + " of " + std::to_string(labels.size()) +
                              " examples in each of " + std::to_string(deals) +
                              " attempts: take a larger alpha, a smaller batch or fewer ranks");
}

}  // namespace kadam::workloads
