// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/factor_coder.hpp>
#include <kadam/wire/factor_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/low_rank_mean.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kadam {
namespace {

constexpr int ranks = 3;
const std::vector<std::int64_t> columns = {300, 1, 77, 130, 5000};

/// The factor of a rank, with a column of zeros.
reference::Factor factor_of(int rank) {
  reference::Factor factor;
  for (const std::int64_t length : columns) {
    factor.push_back(test::random_vector(length, static_cast<std::uint64_t>(10 * rank) + factor.size()));
  }
  factor[2].assign(factor[2].size(), 0.0F);
  return factor;
}

/// Equal numbers; a zero of either sign decodes from the same code.
void expect_equal(const std::vector<float>& got, const std::vector<float>& wanted, const char* what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], wanted[i]) << what << ", element " << i;
}

/// All of an exchange, by one process, beside the reference. What a rank sends to itself is among it.
template <class Exec, class Q>
void expect_mean(const Q& quantiser, int bits) {
  using Space = typename Exec::memory_space;
  SCOPED_TRACE(std::string(Q::name));
  const FactorMessage message(columns, ranks, Q::bits, Q::has_scale);
  const FactorBlocks<Space> blocks = test::to_device<Space>(message.blocks());
  std::vector<FactorParts> parts;
  for (const FactorBlock& block : message.blocks())
    parts.push_back({block.first_element, message.elements(), 2});
  const Kokkos::View<const FactorParts*, Space> device_parts = test::to_device<Space>(parts);
  std::vector<reference::Factor> own;
  std::vector<Kokkos::View<float*, Space>> values;
  std::vector<std::vector<std::uint32_t>> messages;
  const Exec exec;
  for (int r = 0; r < ranks; ++r) {
    own.push_back(factor_of(r));
    const reference::Column flat = reference::FactorMean::joined(own.back());
    std::vector<double> sums;  // two parts, which are to be added
    for (const double part : {0.25, 0.75}) {
      for (const float value : flat) sums.push_back(part * static_cast<double>(value));
    }
    values.push_back(Kokkos::View<float*, Space>("values", flat.size()));
    const Words<Space> words("words", message.total_bytes() / 4);
    encode_factors(exec, quantiser, blocks, device_parts,
                   Kokkos::View<const double*, Space>(test::to_device<Space>(sums)), values.back(), words);
    Kokkos::fence();
    messages.push_back(test::to_host(words));
  }
  reference::Factor lost;
  const reference::Column wanted = reference::FactorMean::joined(reference::FactorMean{bits}(own, lost));
  const reference::Column loss = reference::FactorMean::joined(lost);
  const Words<Space> replies("replies", message.total_bytes() / 4);
  for (int r = 0; r < ranks; ++r) {
    const Piece& piece = message.piece(r);
    const ElementRange chunk = message.chunks().chunk(r);
    std::vector<std::uint32_t> received;
    for (const auto& of_rank : messages) {
      const auto first = of_rank.begin() + static_cast<std::ptrdiff_t>(piece.offset_bytes / 4);
      received.insert(received.end(), first, first + static_cast<std::ptrdiff_t>(piece.bytes / 4));
    }
    const auto words = static_cast<std::int64_t>(piece.bytes / 4);
    const Kokkos::View<float*, Space> means("means", static_cast<std::size_t>(chunk.elements()));
    reduce_factors(exec, quantiser, blocks,
                   ReceivedFactors<Space>{message.first_block(r), message.end_block(r),
                                          static_cast<std::int64_t>(piece.offset_bytes / 4), chunk.begin,
                                          ranks, words, test::to_device<Space>(received)},
                   means, values[static_cast<std::size_t>(r)], replies);
    Kokkos::fence();
    reference::Column taken = reference::FactorMean::joined(own[static_cast<std::size_t>(r)]);
    for (std::int64_t i = chunk.begin; i < chunk.end; ++i)
      taken[static_cast<std::size_t>(i)] -= 3.0F * loss[static_cast<std::size_t>(i)];
    expect_equal(test::to_host(values[static_cast<std::size_t>(r)]), taken, "taken");
  }
  const auto out = test::to_device<Space>(std::vector<float>(wanted.size(), -7.0F));
  decode_factors(exec, quantiser, blocks, ConstWords<Space>(replies), out);
  Kokkos::fence();
  expect_equal(test::to_host(out), wanted, "mean");
}

template <class Exec>
class FactorCoderTest : public testing::Test {};
TYPED_TEST_SUITE(FactorCoderTest, test::ExecutionSpaces);

TYPED_TEST(FactorCoderTest, IsEquivalentToReference) {
  expect_mean<TypeParam>(UniformQuantiser<4>{}, 4);
  expect_mean<TypeParam>(UniformQuantiser<8>{}, 8);
  expect_mean<TypeParam>(IdentityQuantiser{}, 32);
}

}  // namespace
}  // namespace kadam
