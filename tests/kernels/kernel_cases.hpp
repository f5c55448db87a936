// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/segments.hpp>
#include <reference/number_format.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

/// What tests of element by element kernels share. The library is compiled without contraction, so that a
/// plain loop that computes in the same order has the same bits.
namespace kadam::test {

/// A random vector whose last element but one is not a number, if it has two or more.
inline std::vector<float> vector_with_nan(std::int64_t elements, std::uint64_t seed) {
  std::vector<float> values = random_vector(elements, seed);
  if (elements > 1) values[values.size() - 2] = std::numeric_limits<float>::quiet_NaN();
  return values;
}

/// A vector that has no negative number, as a variance: zeros and denormals are among them.
inline std::vector<float> random_variance(std::int64_t elements, std::uint64_t seed) {
  std::vector<float> values = random_vector(elements, seed);
  for (float& value : values) value = std::fabs(value);
  return values;
}

/// Equal to the last bit, the sign of zero included; any NaN equals any other.
inline void expect_same_numbers(const std::vector<float>& got, const std::vector<float>& wanted,
                                const std::string& where) {
  ASSERT_EQ(got.size(), wanted.size()) << where;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool both_nan = std::isnan(got[i]) && std::isnan(wanted[i]);
    const bool same_bits = std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(wanted[i]);
    ASSERT_TRUE(both_nan || same_bits)
        << where << ", element " << i << ": " << got[i] << " instead of " << wanted[i];
  }
}

/// Segments of n elements as a host knows them: short and long ones, empty ones, boundaries anywhere.
struct HostSegments {
  std::vector<std::int64_t> ends;
  std::vector<SegmentFactors> factors;

  [[nodiscard]] static HostSegments of(std::int64_t n) {
    constexpr std::int64_t lengths[] = {1, 0, 7, 2048, 3, 5000, 33, 0, 4096, 2, 130};
    HostSegments segments;
    for (std::int64_t end = 0; end < n;) {
      const std::size_t k = segments.ends.size();
      end = std::min(n, end + lengths[k % std::size(lengths)]);
      segments.ends.push_back(end);
      segments.factors.push_back(
          {1.0 + 0.25 * static_cast<double>(k % 5), k % 3 == 0 ? 0.0 : 0.01 * static_cast<double>(k)});
    }
    return segments;
  }
  /// One segment for all.
  [[nodiscard]] static HostSegments whole(std::int64_t n) { return {{n}, {SegmentFactors{}}}; }

  template <class Space>
  [[nodiscard]] SegmentTable<Space> table() const {
    return SegmentTable<Space>::make(ends, factors);
  }
  /// visit(segment, i) for all elements.
  template <class Visit>
  void for_each_element(const Visit& visit) const {
    std::int64_t i = 0;
    for (std::size_t k = 0; k < ends.size(); ++k) {
      for (; i < ends[k]; ++i) visit(static_cast<std::int64_t>(k), static_cast<std::size_t>(i));
    }
  }
};

/// A rule for each of these segments.
template <class Space, class RuleOf>
BySegment<Space, RuleOf> by_segment(const HostSegments& segments, const RuleOf& rule_of) {
  return {segments.table<Space>(), rule_of};
}

template <class Space, Number T>
Numbers<Space> numbers_of(const std::vector<float>& values) {
  std::vector<T> rounded;
  rounded.reserve(values.size());
  for (const float value : values) rounded.push_back(round_to<T>(value));
  return to_device<Space>(rounded);
}

/// function(the numbers in a format, what they are in float32, the format's name), for all three formats.
template <class Space, class Function>
void for_each_format(const std::vector<float>& values, const Function& function) {
  function(Numbers<Space>(to_device<Space>(values)), values, "float32");
  function(numbers_of<Space, Bfloat16>(values), reference::Format::named("bf16").rounded(values), "bf16");
  function(numbers_of<Space, Float16>(values), reference::Format::named("fp16").rounded(values), "fp16");
}

}  // namespace kadam::test
