// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/problem.hpp>
#include <kadam/collectives/dense_mean.hpp>

namespace kadam {

Problem Problem::of_elements(std::int64_t elements, const Arrangement& ranks, const CommonOptions& common) {
  Problem problem{TensorLayout({{"all", 0, elements}}), {}, ranks, 0};
  problem.groups = resolve_groups(problem.layout, {}, common.weight_decay, 0);
  return problem;
}

StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                      const Kernel& update) {
  StepPhase phase;
  phase.name = name;
  phase.add({cost::check, problem.all()});
  phase.add(DenseMeanLayout(problem.ranks, problem.elements()).cost(common.gradients), Hiding::backward);
  if (common.clip_norm > 0.0) phase.add({cost::check, problem.all()});
  phase.add({update, problem.all()});
  return phase;
}

Kernel adam_kernel(const CommonOptions& common) {
  return common.gradients == NumberFormat::float32 ? cost::adam_update : cost::adam_update_half;
}

}  // namespace kadam
