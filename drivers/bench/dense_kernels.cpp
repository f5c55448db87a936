// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/algorithms/algorithm.hpp>
#include <kadam/kernels/adam_direction.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/factored_variance.hpp>
#include <kadam/kernels/local_step.hpp>
#include <kadam/kernels/ordered_mean.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/kernels/step_ahead.hpp>

#include <algorithm>

namespace kadam::bench {
namespace {

constexpr double gamma = 1e-3;
constexpr double eps = 1e-8;

/// So many segments of one length; the first and every other one decay.
SegmentTable<MemorySpace> segments(std::int64_t elements, std::int64_t count, double weight_decay) {
  std::vector<Segment> segments;
  for (std::int64_t k = 0; k < count; ++k) {
    segments.push_back(
        {{elements * k / count, elements * (k + 1) / count}, 1.0, k % 2 == 0 ? weight_decay : 0.0});
  }
  return segment_table(segments);
}

template <class RuleOf>
BySegment<MemorySpace, RuleOf> one_segment(const Vectors& vectors, const RuleOf& rule_of) {
  return {segments(vectors.elements, 1, 0.0), rule_of};
}

BySegment<MemorySpace, AdamStepOf> adam_step(const Vectors& vectors, std::int64_t count,
                                             double weight_decay) {
  return {segments(vectors.elements, count, weight_decay),
          {Ema::make(0.9), Ema::make(0.999), 1.0F, AdamApplyOf::make(gamma, eps, 0.9, 0.9)}};
}

KernelCase adam(const char* name, const Vectors& vectors, std::int64_t count, double weight_decay) {
  const auto rule = adam_step(vectors, count, weight_decay);
  return {name, 28.0, vectors.elements, Limit::update, [&vectors, rule](const auto& exec) {
            adam_update(exec, rule, vectors.x, vectors.m, vectors.v, vectors.gradient);
          }};
}

/// With a gradient of 16 bits: 26 B, and 2 B more where x is rounded into a copy as well.
template <class T>
KernelCase half_adam(const char* name, const Vectors& vectors, const Vector<T>& gradient, bool copies) {
  const HalfCopy<MemorySpace> copy = copies ? HalfCopy<MemorySpace>(vectors.model) : HalfCopy<MemorySpace>();
  return {name, copies ? 28.0 : 26.0, vectors.elements, Limit::update,
          [&vectors, gradient, copy, rule = adam_step(vectors, 1, 0.0)](const auto& exec) {
            adam_update(exec, rule, vectors.x, vectors.m, vectors.v, gradient, copy);
          }};
}

/// With moments in 8 bits: of a block 16 B for its scales.
KernelCase eight_bit_adam(const char* name, const Vectors& vectors, const Numbers<MemorySpace>& gradient) {
  const double bytes = 12.0 + static_cast<double>(bytes_per_number(gradient.format())) + 16.0 / 256.0;
  const auto blocks = static_cast<std::int64_t>(vectors.byte_moments.m_scales.extent(0));
  return {name, bytes, vectors.elements, Limit::update,
          [&vectors, gradient, blocks, rule = adam_step(vectors, 1, 0.0)](const auto& exec) {
            update_byte_moments(exec, rule, vectors.byte_moments, 1, 0, blocks, vectors.x, gradient);
          }};
}

KernelCase squared_norm(const Vectors& vectors) {
  const SumSpace<MemorySpace> space(vectors.elements);
  return {"ordered_sum of squares", 4.0, vectors.elements, Limit::read, [&vectors, space](const auto& exec) {
            (void)ordered_sum(exec, vectors.elements, SquareOf<MemorySpace>{vectors.gradient}, space);
          }};
}

/// Of 4 parts of a chunk, which lie one after the other in one vector.
KernelCase mean_of_parts(const Vectors& vectors) {
  const std::int64_t chunk = vectors.elements / 4;
  return {"ordered_mean of 4", 20.0, chunk, Limit::update, [&vectors, chunk](const auto& exec) {
            ordered_mean<ExecutionSpace, MemorySpace>(exec, chunk, 4, chunk, vectors.gradient, vectors.error);
          }};
}

KernelCase accumulate_direction_case(const Vectors& vectors) {
  const MomentUpdate moments{Ema::make(0.9), Ema::make(0.999), 1.0F};
  const auto direction = AdamDirectionOf::make(1.0, gamma, eps, 0.9, 0.9);
  const auto rule = one_segment(vectors, MomentsAndDirectionOf{moments, direction});
  return {"accumulate_adam_direction", 28.0, vectors.elements, Limit::update,
          [&vectors, rule](const auto& exec) {
            accumulate_adam_direction(exec, rule, vectors.m, vectors.v, vectors.gradient, vectors.error);
          }};
}

/// One matrix of up to 1024 columns, and what is left as a vector.
VarianceFactors<MemorySpace> factors_of(const Vectors& vectors) {
  const std::int64_t columns = std::min<std::int64_t>(1024, vectors.elements / 2);
  const std::int64_t rows = vectors.elements / columns;
  return VarianceFactors<MemorySpace>::make<ExecutionSpace>(
      {{0, rows, columns}, {rows * columns, vectors.elements - rows * columns, 1}});
}

KernelCase update_variance_case(const Vectors& vectors) {
  return {"update_variance, factored", 4.5, vectors.elements, Limit::read,
          [&vectors, factors = factors_of(vectors)](const auto& exec) {
            update_variance(exec, factors, Ema::make(0.999), 1.0F, vectors.gradient);
          }};
}

KernelCase accumulate_momentum_case(const Vectors& vectors) {
  const MomentumAndDirectionOf rule{Ema::make(0.9), 1.0F, AdamDirectionOf::make(1.0, gamma, eps, 0.9, 0.9)};
  const auto factors = factors_of(vectors);
  const ExecutionSpace on;
  update_variance(on, factors, Ema::make(0.999), 1.0F, vectors.gradient);
  on.fence("kadam-bench: factors");
  return {"accumulate_momentum_direction", 20.0, vectors.elements, Limit::update,
          [&vectors, factors, rules = one_segment(vectors, rule)](const auto& exec) {
            accumulate_momentum_direction(exec, rules, factors, vectors.m, vectors.gradient, vectors.error);
          }};
}

/// m and u, then the rank's own parameters: what 0/1 Adam does between synchronisations.
KernelCase local_step_case(const Vectors& vectors) {
  LocalStepOf step;
  step.first = Ema::make(0.9);
  step.gamma = gamma;
  step.eps = static_cast<float>(eps);
  const auto rule = one_segment(vectors, step);
  return {"local step of 0/1 Adam", 36.0, vectors.elements, Limit::update,
          [&vectors, rule](const auto& exec) {
            accumulate_local_momentum(exec, rule, vectors.m, vectors.error, vectors.gradient);
            write_working_parameters<ExecutionSpace, MemorySpace>(exec, rule, vectors.x, vectors.error,
                                                                  vectors.v, vectors.x);
          }};
}

/// Where divisible Adam takes its next gradient, with one residual owed and with two.
std::vector<KernelCase> step_ahead_cases(const Vectors& vectors) {
  return {{"step_ahead of one", 12.0, vectors.elements, Limit::update,
           [&vectors](const auto& exec) {
             step_ahead<ExecutionSpace, MemorySpace>(exec, 1.0F, vectors.x, vectors.m, vectors.error);
           }},
          {"step_ahead of two", 16.0, vectors.elements, Limit::update, [&vectors](const auto& exec) {
             step_ahead<ExecutionSpace, MemorySpace>(exec, 1.0F, vectors.x, vectors.m, vectors.gradient,
                                                     vectors.error);
           }}};
}

}  // namespace

std::vector<KernelCase> dense_cases(const Vectors& vectors) {
  std::vector<KernelCase> cases = {
      adam("adam_update", vectors, 1, 0.0),
      adam("adam_update with decay", vectors, 1, 0.01),
      adam("adam_update, 400 groups", vectors, 400, 0.01),
      half_adam("adam_update, bf16", vectors, vectors.bfloat16_gradient, false),
      half_adam("adam_update, bf16 and copy", vectors, vectors.bfloat16_gradient, true),
      half_adam("adam_update, fp16", vectors, vectors.float16_gradient, false),
      eight_bit_adam("adam_update, 8-bit moments", vectors, vectors.gradient),
      eight_bit_adam("adam_update, 8-bit moments, bf16", vectors, vectors.bfloat16_gradient),
      accumulate_direction_case(vectors),
      update_variance_case(vectors),
      accumulate_momentum_case(vectors),
      local_step_case(vectors),
      squared_norm(vectors),
      mean_of_parts(vectors)};
  for (KernelCase& one : step_ahead_cases(vectors)) cases.push_back(std::move(one));
  return cases;
}

}  // namespace kadam::bench
