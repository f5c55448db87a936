// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/local_rounds.hpp>
#include <kadam/kernels/without_code.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/number_format.hpp>

#include <string>
#include <vector>

namespace kadam {
namespace {

constexpr double gamma_of_round = 0.7;
constexpr double gamma_since = 0.3;
constexpr float eta = 0.75F;

/// An outer step of each coordinate in turn.
struct PlainOuterStep {
  float momentum;
  std::vector<float> x;
  std::vector<float> o;

  /// r: the mean of the coordinate; lambda: the weight decay of its segment, lr_scale its factor.
  void operator()(std::size_t i, float r, const SegmentFactors& segment) {
    const auto decay = static_cast<float>(1.0 - gamma_of_round * segment.lr_scale * segment.weight_decay);
    if (momentum > 0.0F) o[i] = reference::flushed(momentum * o[i] + r);
    x[i] = decay * x[i] - eta * (r + momentum * (momentum > 0.0F ? o[i] : 0.0F));
  }
};

template <class Exec>
class LocalRoundsTest : public testing::Test {};
TYPED_TEST_SUITE(LocalRoundsTest, test::ExecutionSpaces);

/// With momentum and without, where o is empty; from the mean and from the negative mean.
TYPED_TEST(LocalRoundsTest, OuterStepIsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const auto segments = test::HostSegments::of(n);
    const std::vector<float> r = test::vector_with_nan(n, 3);
    for (const float momentum : {0.0F, 0.875F}) {
      for (const float sign : {1.0F, -1.0F}) {
        PlainOuterStep plain{momentum, test::random_vector(n, 1), {}};
        if (momentum > 0.0F) plain.o = test::random_vector(n, 2);
        const OuterStep<Space> outer{test::to_device<Space>(plain.x), test::to_device<Space>(plain.o),
                                     test::to_device<Space>(std::vector<float>(r.size(), 5.0F)),
                                     test::to_device<Space>(std::vector<float>(r.size(), 6.0F))};
        segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
          plain(i, sign * r[i], segments.factors[static_cast<std::size_t>(segment)]);
        });
        const UpdateBySegment<Space, OuterFactorsOf, OuterStep<Space>> update{
            test::by_segment<Space>(segments, OuterFactorsOf{gamma_of_round, eta, momentum}), outer};
        update_by_mean<TypeParam, Space>(TypeParam{}, update, sign, test::to_device<Space>(r));
        Kokkos::fence();
        const std::string where =
            "n " + std::to_string(n) + ", mu " + std::to_string(momentum) + ", sign " + std::to_string(sign);
        test::expect_same_numbers(test::to_host(outer.x), plain.x, "x, " + where);
        test::expect_same_numbers(test::to_host(outer.parameters), plain.x, "parameters, " + where);
        test::expect_same_numbers(test::to_host(outer.o), plain.o, "o, " + where);
        test::expect_same_numbers(test::to_host(outer.u), std::vector<float>(r.size(), 0.0F), "u, " + where);
      }
    }
  }
}

/// It looks ahead: the state of the outer step stays.
TYPED_TEST(LocalRoundsTest, AfterOuterStepIsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const auto segments = test::HostSegments::of(n);
    const std::vector<float> r = test::random_vector(n, 3);
    const std::vector<float> more = test::random_vector(n, 4);
    for (const float momentum : {0.0F, 0.875F}) {
      PlainOuterStep plain{momentum, test::random_vector(n, 1), {}};
      if (momentum > 0.0F) plain.o = test::random_vector(n, 2);
      const std::vector<float> u(r.size(), 5.0F);
      const OuterStep<Space> outer{test::to_device<Space>(plain.x), test::to_device<Space>(plain.o),
                                   test::to_device<Space>(u), test::to_device<Space>(u)};
      const std::vector<float> x = plain.x;
      const std::vector<float> o = plain.o;
      std::vector<float> wanted(r.size());
      segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
        const SegmentFactors& factors = segments.factors[static_cast<std::size_t>(segment)];
        plain(i, r[i], factors);
        const auto since = static_cast<float>(1.0 - gamma_since * factors.lr_scale * factors.weight_decay);
        wanted[i] = since * plain.x[i] - eta * more[i];
      });
      const auto out = test::to_device<Space>(more);
      const InFlightFactorsOf factors{{gamma_of_round, eta, momentum}, gamma_since};
      const UpdateBySegment<Space, InFlightFactorsOf, AfterOuterStep<Space>> update{
          test::by_segment<Space>(segments, factors), {outer, out, out}};
      update_by_mean<TypeParam, Space>(TypeParam{}, update, 1.0F, test::to_device<Space>(r));
      Kokkos::fence();
      const std::string where = "n " + std::to_string(n) + ", mu " + std::to_string(momentum);
      test::expect_same_numbers(test::to_host(out), wanted, "out, " + where);
      test::expect_same_numbers(test::to_host(outer.x), x, "x, " + where);
      test::expect_same_numbers(test::to_host(outer.o), o, "o, " + where);
      test::expect_same_numbers(test::to_host(outer.u), u, "u, " + where);
      test::expect_same_numbers(test::to_host(outer.parameters), u, "parameters, " + where);
    }
  }
}

}  // namespace
}  // namespace kadam
