// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/algorithm_plan.hpp>
#include <plan/family_plans.hpp>

#include <array>
#include <stdexcept>
#include <string>

namespace kadam::plan {
namespace {

struct Planner {
  std::string_view name;
  AlgorithmPlan (*plan)(std::string_view, const OptionMap&, const Problem&);
};

void require_no_tensors(const CommonOptions& common) {
  if (common.dense_below == 0) return;
  throw std::invalid_argument("kadam::plan: dense_below: a plan knows d, not the tensors; leave it out");
}

template <class Options>
AlgorithmPlan plan(std::string_view name, const OptionMap& values, const Problem& problem) {
  const auto options = read_options<Options>(name, values);
  options.validate();
  require_no_tensors(options.common);
  return detail::plan_of(options, problem);
}

constexpr std::array<Planner, 10> planners = {{
    {"adam", plan<Adam::Options>},
    {"lamb", plan<Lamb::Options>},
    {"onebit_adam", plan<FrozenVarianceAdam::OnebitAdam>},
    {"apmsqueeze", plan<FrozenVarianceAdam::Apmsqueeze>},
    {"zero_one_adam", plan<ZeroOneAdam::Options>},
    {"onebit_lamb", plan<OnebitLamb::Options>},
    {"efficient_adam", plan<EfficientAdam::Options>},
    {"loco", plan<Loco::Options>},
    {"locally_accumulated_adam", plan<LocallyAccumulatedAdam::Options>},
    {"divisible_adam", plan<DivisibleAdam::Options>},
}};

}  // namespace

AlgorithmPlan plan_algorithm(std::string_view name, const OptionMap& options, const Problem& problem) {
  if (problem.elements < 1 || problem.exchanged < 1 || problem.ranks < 1 || problem.steps < 1) {
    throw std::invalid_argument(
        "kadam::plan::plan_algorithm: expected 1 or more parameters, ranks and steps, got " +
        std::to_string(problem.elements) + ", " + std::to_string(problem.ranks) + " and " +
        std::to_string(problem.steps));
  }
  for (const Planner& planner : planners) {
    if (planner.name == name) return planner.plan(name, options, problem);
  }
  std::string text = "kadam::plan: there is no optimizer '";
  throw std::invalid_argument(text.append(name).append("'"));
}

}  // namespace kadam::plan
