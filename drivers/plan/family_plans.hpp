// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/adam.hpp>
#include <kadam/optim/divisible_adam.hpp>
#include <kadam/optim/efficient_adam.hpp>
#include <kadam/optim/frozen_variance_adam.hpp>
#include <kadam/optim/lamb.hpp>
#include <kadam/optim/locally_accumulated_adam.hpp>
#include <kadam/optim/loco.hpp>
#include <kadam/optim/onebit_lamb.hpp>
#include <kadam/optim/zero_one_adam.hpp>
#include <plan/algorithm_plan.hpp>

/// plan_algorithm() of each optimizer, from options that were read and found right.
namespace kadam::plan::detail {

[[nodiscard]] AlgorithmPlan plan_of(const Adam::Options& options, const Problem& problem);
[[nodiscard]] AlgorithmPlan plan_of(const Lamb::Options& options, const Problem& problem);
[[nodiscard]] AlgorithmPlan plan_of(const FrozenVarianceAdam::Options& options, const Problem& problem);
[[nodiscard]] AlgorithmPlan plan_of(const ZeroOneAdam::Options& options, const Problem& problem);
[[nodiscard]] AlgorithmPlan plan_of(const OnebitLamb::Options& options, const Problem& problem);
[[nodiscard]] AlgorithmPlan plan_of(const EfficientAdam::Options& options, const Problem& problem);
[[nodiscard]] AlgorithmPlan plan_of(const Loco::Options& options, const Problem& problem);
[[nodiscard]] AlgorithmPlan plan_of(const LocallyAccumulatedAdam::Options& options, const Problem& problem);
[[nodiscard]] AlgorithmPlan plan_of(const DivisibleAdam::Options& options, const Problem& problem);

/// A step with the dense mean of the gradient: the update alone differs.
[[nodiscard]] StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                                    Kernel update);
[[nodiscard]] Kernel adam_kernel(const CommonOptions& common);
/// Bytes of DenseMean's buffers.
[[nodiscard]] std::size_t dense_workspace(const Problem& problem, NumberFormat widest);
[[nodiscard]] ChunkLayout chunks_of(const Problem& problem);
/// Part of the run before step `until`, which must be short of its end. Errors: std::invalid_argument.
[[nodiscard]] double share_until(std::int64_t until, const Problem& problem, const char* option);
void append(std::vector<Work>& work, const std::vector<Work>& more);
/// All elements, as kernels count them.
[[nodiscard]] inline double all(const Problem& problem) {
  return static_cast<double>(problem.elements);
}

}  // namespace kadam::plan::detail
