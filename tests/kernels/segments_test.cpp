// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/segments.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>

#include <string>
#include <vector>

namespace kadam {
namespace {

/// out <- the number of the segment, and ten times its lr_scale.
struct NameSegment {
  float segment;
  float scale;
  KOKKOS_FUNCTION void operator()(float& number, float& factor) const {
    number = segment;
    factor = scale;
  }
};
struct NameSegmentOf {
  KOKKOS_FUNCTION NameSegment operator()(std::int64_t segment, const SegmentFactors& factors) const {
    return {static_cast<float>(segment), static_cast<float>(10.0 * factors.lr_scale)};
  }
};

/// out <- out + 2 in + the third element of each four: tells whether elements keep their places in a pack.
struct AddTwice {
  KOKKOS_FUNCTION void operator()(const float& in, float& out, std::int32_t& visits) const {
    out += 2.0F * in;
    ++visits;
  }
};

/// out(i) <- value times the number of the segment.
template <class Space>
struct StoreSegment {
  Kokkos::View<float*, Space> out;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float value, const NameSegment& rule) const {
    out(i) = value * rule.segment;
  }
};
template <class Space>
struct OneByOne {
  UpdateBySegment<Space, NameSegmentOf, StoreSegment<Space>> update;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const { update(i, 2.0F); }
};

template <class Exec>
class SegmentsTest : public testing::Test {};
TYPED_TEST_SUITE(SegmentsTest, test::ExecutionSpaces);

TYPED_TEST(SegmentsTest, EveryElementHasTheRuleOfItsSegment) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    for (const auto& segments : {test::HostSegments::of(n), test::HostSegments::whole(n)}) {
      std::vector<float> number(static_cast<std::size_t>(n), -1.0F);
      std::vector<float> factor(static_cast<std::size_t>(n), -1.0F);
      const auto number_device = test::to_device<Space>(number);
      const auto factor_device = test::to_device<Space>(factor);
      for_each_element("kadam::test", TypeParam{}, n, test::by_segment<Space>(segments, NameSegmentOf{}),
                       writes(number_device), writes(factor_device));
      segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
        number[i] = static_cast<float>(segment);
        factor[i] = static_cast<float>(10.0 * segments.factors[static_cast<std::size_t>(segment)].lr_scale);
      });
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(number_device), number, "segment, n " + std::to_string(n));
      test::expect_same_numbers(test::to_host(factor_device), factor, "factor, n " + std::to_string(n));
    }
  }
}

/// A vector may begin in the middle of the table: a shard of the parameters.
TYPED_TEST(SegmentsTest, APartOfTheVectorFindsItsSegments) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 20000;
  const auto segments = test::HostSegments::of(n);
  for (const std::int64_t offset : {0, 1, 2047, 2048, 5001, 19999}) {
    auto rule = test::by_segment<Space>(segments, NameSegmentOf{});
    rule.offset = offset;
    const std::vector<float> none(static_cast<std::size_t>(n - offset), -1.0F);
    const auto number = test::to_device<Space>(none);
    const auto factor = test::to_device<Space>(none);
    for_each_element("kadam::test", TypeParam{}, n - offset, rule, writes(number), writes(factor));
    Kokkos::fence();
    const std::vector<float> got = test::to_host(number);
    segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
      if (static_cast<std::int64_t>(i) < offset) return;
      ASSERT_EQ(got[i - static_cast<std::size_t>(offset)], static_cast<float>(segment))
          << "offset " << offset << " element " << i;
    });
  }
}

/// Elements that are looked up alone: those that are kept out of compression.
TYPED_TEST(SegmentsTest, AnElementAloneHasTheRuleOfItsSegment) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 20000;
  const auto segments = test::HostSegments::of(n);
  for (const std::int64_t offset : {0, 5001}) {
    auto rule = test::by_segment<Space>(segments, NameSegmentOf{});
    rule.offset = offset;
    const auto out = test::to_device<Space>(std::vector<float>(static_cast<std::size_t>(n - offset), -1.0F));
    Kokkos::parallel_for("kadam::test", Kokkos::RangePolicy<TypeParam>(0, n - offset),
                         OneByOne<Space>{{rule, {out}}});
    Kokkos::fence();
    const std::vector<float> got = test::to_host(out);
    segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
      if (static_cast<std::int64_t>(i) < offset) return;
      ASSERT_EQ(got[i - static_cast<std::size_t>(offset)], static_cast<float>(2 * segment))
          << "offset " << offset << " element " << i;
    });
  }
}

/// Where a vector begins decides how many elements a GPU's thread takes at a time, and nothing else.
TYPED_TEST(SegmentsTest, EveryElementIsVisitedOnceWhereverArraysBegin) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 10000;
  const auto in = test::to_device<Space>(test::random_vector(n, 1));
  const std::vector<float> in_host = test::to_host(in);
  for (const std::int64_t skipped : {0, 1, 2, 3, 4, 5, 9998}) {
    for (const std::int64_t length : {n - skipped, (n - skipped) / 2, std::int64_t{1}, std::int64_t{0}}) {
      const auto range = Kokkos::make_pair(skipped, skipped + length);
      std::vector<float> out_host = test::random_vector(n, 2);
      const auto out = test::to_device<Space>(out_host);
      const auto visits = test::to_device<Space>(std::vector<std::int32_t>(out_host.size(), 0));
      for_each_element("kadam::test", TypeParam{}, length, AddTwice{}, reads(Kokkos::subview(in, range)),
                       updates(Kokkos::subview(out, range)), updates(Kokkos::subview(visits, range)));
      Kokkos::fence();
      const std::vector<std::int32_t> visited = test::to_host(visits);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        const bool inside = i >= skipped && i < skipped + length;
        ASSERT_EQ(visited[k], inside ? 1 : 0) << "from " << skipped << " element " << i;
        if (inside) out_host[k] += 2.0F * in_host[k];
      }
      test::expect_same_numbers(test::to_host(out), out_host, "from " + std::to_string(skipped));
    }
  }
}

}  // namespace
}  // namespace kadam
