// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/eight_bit_moments.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/largest_step.hpp>

#include <algorithm>
#include <cmath>

namespace kadam {

Problem Problem::of_elements(std::int64_t elements, const Arrangement& ranks, const CommonOptions& common,
                             bool as_matrices) {
  constexpr std::int64_t side = 1024;
  TensorLayoutBuilder tensors;
  std::int64_t left = elements;
  for (; as_matrices && left >= side * side; left -= side * side) {
    tensors.add("matrix " + std::to_string(left), {side, side});
  }
  tensors.add("all", left);
  Problem problem{tensors.build(), {}, ranks, 0};
  problem.groups = resolve_groups(problem.layout, {}, common.weight_decay, 0);
  return problem;
}

StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                      const Kernel& update) {
  return dense_phase(name, common, problem, update, DenseMeanLayout(problem.ranks, problem.elements()));
}

StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                      const Kernel& update, const DenseMeanLayout& mean) {
  const auto updated = static_cast<double>(mean.received().elements());
  StepPhase phase;
  phase.name = name;
  phase.add({cost::check, problem.all()});
  phase.add(mean.cost(common.gradients), Hiding::backward);
  if (common.clip_norm > 0.0) phase.add({cost::check, updated});
  phase.add({update, updated});
  if (mean.is_divided()) phase.add(mean.gather_cost(), Hiding::nothing);
  return phase;
}

Kernel adam_kernel(const CommonOptions& common) {
  return common.gradients == NumberFormat::float32 ? cost::adam_update : cost::adam_update_half;
}

Kernel eight_bit_adam_kernel(const CommonOptions& common) {
  return common.gradients == NumberFormat::float32 ? cost::update_byte_moments
                                                   : cost::update_byte_moments_half;
}

SegmentTable<MemorySpace> segment_table(const std::vector<Segment>& segments) {
  std::vector<std::int64_t> ends;
  std::vector<SegmentFactors> factors;
  for (const Segment& segment : segments) {
    ends.push_back(segment.range.end);
    factors.push_back({segment.lr_scale, segment.weight_decay});
  }
  return SegmentTable<MemorySpace>::make(ends, factors);
}

double Workplace::one_norm(const ExecutionSpace& exec, const Vector<const float>& values) const {
  return ordered_sum(exec, static_cast<std::int64_t>(values.extent(0)), MagnitudeOf<MemorySpace>{values},
                     sum_space);
}

double Workplace::squared_norm(const ExecutionSpace& exec, const Numbers<MemorySpace>& values) const {
  double sum = 0.0;
  values.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& x) {
    sum = ordered_sum(exec, static_cast<std::int64_t>(x.extent(0)), SquareOf<MemorySpace, T>{x}, sum_space);
  });
  return sum;
}

Gradient Step::mean_gradient(DenseMean& mean) const {
  return mean.of_gradient(exec, phases, gradient);
}

BySegment<MemorySpace, AdamStepOf> Step::adam_rule(double c1, double c2) const {
  return by_segment(AdamStepOf{Ema::make(common.beta1), Ema::make(common.beta2), gradient_scale(),
                               AdamApplyOf::make(gamma(), common.eps, c1, c2)});
}

BySegment<MemorySpace, AdamStepOf> Step::adam_rule() const {
  return adam_rule(first_correction(), second_correction());
}

void Algorithm::dense_adam_step(Step& step, DenseMean& mean, const Moments& moments) {
  const std::int64_t first = mean.layout().received().begin;
  update_from_mean(
      step, mean, [&](auto rule, const ElementRange& range, const Parameters& parameters, const Gradient& g) {
        rule.offset = range.begin;
        const ElementRange here = {range.begin - first, range.end - first};
        const Moments own = {elements_in(moments.m, here), elements_in(moments.v, here)};
        update_by_adam(step.exec, rule, parameters.part(here), own, g.part(here.begin, here.end));
      });
}

void Algorithm::dense_adam_step(Step& step, DenseMean& mean, const EightBitMoments& moments) {
  update_from_mean(step, mean,
                   [&](const auto& rule, const ElementRange& range, const Parameters& parameters,
                       const Gradient& g) { moments.update(step.exec, rule, step.t, range, parameters, g); });
}

template <class Update>
void Algorithm::update_from_mean(Step& step, DenseMean& mean, const Update& update) {
  const Gradient g = step.mean_gradient(mean);
  {
    const auto scope = step.enter(Phase::decode);
    step.result.gradient_scale = clip_factor_of(step.exec, g, mean);
    const ElementRange& received = mean.layout().received();
    // Where the mean is divided, the Optimizer writes the model, after x was gathered.
    const Parameters parameters =
        mean.layout().is_divided() ? Parameters(elements_in(step.x(), received)) : step.parameters;
    if (!at_.absent.any_ever()) {
      update(step.adam_rule(), received, parameters, g);
    } else {
      update_by_own_steps(step, received, parameters, [&](const auto& rule, const ElementRange& range) {
        update(rule, range, parameters, g);
      });
    }
  }
  mean.gather(step.exec, step.phases, step.x());
}

template <class Update>
void Algorithm::update_by_own_steps(const Step& step, const ElementRange& received,
                                    const Parameters& parameters, const Update& update) const {
  for (const AbsentGradients::Run& run : at_.absent.runs(layout())) {
    const ElementRange range = {std::max(run.range.begin, received.begin),
                                std::min(run.range.end, received.end)};
    if (range.begin >= range.end) continue;
    if (run.is_left_out) {
      // A model is written in any case.
      const Parameters part = parameters.part({range.begin - received.begin, range.end - received.begin});
      write_copy<ExecutionSpace, MemorySpace>(step.exec, part.master(), part.copy());
      continue;
    }
    const std::int64_t own_steps = step.t - run.steps_left_out;
    update(step.adam_rule(common().first_correction(own_steps), common().second_correction(own_steps)),
           range);
  }
}

void Algorithm::update_by_adam(const ExecutionSpace& exec, const BySegment<MemorySpace, AdamStepOf>& rule,
                               const Parameters& parameters, const Moments& moments,
                               const Gradient& gradient) {
  adam_update(exec, rule, parameters.master(), moments.m, moments.v, gradient, parameters.copy());
}

double Algorithm::clip_factor(double norm) const {
  return common().clip_norm > 0.0 && norm > common().clip_norm ? common().clip_norm / norm : 1.0;
}

double Algorithm::clip_factor_of(const ExecutionSpace& exec, const Gradient& mean_gradient) const {
  return common().clip_norm > 0.0 ? clip_factor(std::sqrt(squared_norm(exec, mean_gradient))) : 1.0;
}

double Algorithm::clip_factor_of(const ExecutionSpace& exec, const Gradient& mean_gradient,
                                 const DenseMean& mean) const {
  if (common().clip_norm == 0.0) return 1.0;
  return clip_factor(std::sqrt(mean.sum_over_shards(squared_norm(exec, mean_gradient))));
}

std::optional<double> Algorithm::owed_ratio(double own_error, double delivered) const {
  const double sum = communicator().sum_over_ranks(own_error);
  if (delivered == 0.0) return std::nullopt;
  return std::sqrt(sum / communicator().size() / delivered);
}

std::optional<double> Algorithm::error_ratio(const ExecutionSpace& exec, const GroupedMean& mean) const {
  return owed_ratio(mean.compressed().squared_error(exec, sum_space()),
                    mean.compressed().squared_norm(exec, mean.active(), sum_space()));
}

std::optional<LargestStep> Algorithm::largest_step(const ExecutionSpace& exec, const Moments& moments,
                                                   double c2) const {
  const LargestValue own = kadam::largest_step<ExecutionSpace, MemorySpace>(
      exec, static_cast<float>(1.0 / c2), static_cast<float>(common().eps), moments.m, moments.v);
  const double both[] = {static_cast<double>(own.value), static_cast<double>(own.index)};
  const std::vector<double> of_ranks = communicator().all_gather_values(both);
  LargestStep largest{-1.0, 0, {}};
  std::int64_t index = -1;
  for (std::size_t rank = 0; rank < of_ranks.size() / 2; ++rank) {
    if (of_ranks[2 * rank] <= largest.over_learning_rate) continue;
    largest.over_learning_rate = of_ranks[2 * rank];
    index = static_cast<std::int64_t>(of_ranks[2 * rank + 1]);
  }
  if (index < 0) return std::nullopt;
  const std::vector<Tensor>& tensors = layout().tensors();
  const auto place = std::upper_bound(tensors.begin(), tensors.end(), index,
                                      [](std::int64_t i, const Tensor& tensor) { return i < tensor.end; });
  largest.tensor = place - tensors.begin();
  largest.tensor_name = place->name;
  return largest;
}

std::optional<double> Algorithm::spread_over_ranks(double value) const {
  const std::vector<double> values = communicator().all_gather_values({&value, 1});
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  if (*smallest == 0.0) return std::nullopt;
  return *largest / *smallest;
}

}  // namespace kadam
