// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/muon_direction.hpp>
#include <kadam/kernels/factored_variance.hpp>
#include <kadam/kernels/on_device.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace kadam {
namespace {

/// Patterns of names, separated by commas.
std::vector<std::string> patterns_in(std::string_view names) {
  std::vector<std::string> patterns;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    patterns.emplace_back(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return patterns;
}

void require_tensors(const std::vector<std::string>& patterns, const TensorLayout& layout) {
  for (const std::string& pattern : patterns) {
    const bool fits = std::any_of(layout.tensors().begin(), layout.tensors().end(),
                                  [&](const Tensor& tensor) { return matches(pattern, tensor.name); });
    if (!fits)
      throw std::invalid_argument("option 'matrices': the pattern '" + pattern + "' matches no tensor");
  }
}

PackedRanges<MemorySpace> packed(const std::vector<Segment>& ranges) {
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> distances;
  std::vector<SegmentFactors> factors;
  std::int64_t elements = 0;
  for (const Segment& range : ranges) {
    distances.push_back(range.range.begin - elements);
    elements += range.range.elements();
    ends.push_back(elements);
    factors.push_back({range.lr_scale, range.weight_decay});
  }
  return {SegmentTable<MemorySpace>::make(ends, factors),
          on_device<MemorySpace>("kadam::MuonDirection::distances", distances), elements};
}

}  // namespace

SpectralTensors SpectralTensors::named(const std::string& names, const TensorLayout& layout,
                                       const ResolvedGroups& groups) {
  const std::vector<std::string> patterns =
      names == "all" ? std::vector<std::string>{"*"} : patterns_in(names);
  if (names != "all") require_tensors(patterns, layout);
  SpectralTensors result;
  for (std::size_t k = 0; k < layout.tensors().size(); ++k) {
    const Tensor& tensor = layout.tensors()[k];
    const Segment& of_tensor = groups.tensors[k];
    const bool is_spectral = tensor.is_matrix() && tensor.spectral &&
                             std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
                               return matches(pattern, tensor.name);
                             });
    if (is_spectral) {
      result.matrices.push_back(
          {{tensor.begin, tensor.rows(), tensor.columns()}, of_tensor.lr_scale, of_tensor.weight_decay});
    } else {
      append_segment(result.others, of_tensor);
      result.other_tensors.push_back(tensor);
    }
  }
  return result;
}

SpectralTensors SpectralTensors::regrouped(const ResolvedGroups& groups) const {
  const auto group_of = [&](std::int64_t begin) -> const Segment& {
    return *std::lower_bound(
        groups.tensors.begin(), groups.tensors.end(), begin,
        [](const Segment& tensor, std::int64_t first) { return tensor.range.end <= first; });
  };
  SpectralTensors result = *this;
  for (Matrix& matrix : result.matrices) {
    const Segment& of_tensor = group_of(matrix.place.begin);
    matrix.lr_scale = of_tensor.lr_scale;
    matrix.weight_decay = of_tensor.weight_decay;
  }
  result.others.clear();
  for (const Tensor& tensor : other_tensors) {
    if (tensor.elements() > 0) append_segment(result.others, group_of(tensor.begin));
  }
  return result;
}

std::vector<MatrixPlace> SpectralTensors::places() const {
  std::vector<MatrixPlace> all;
  all.reserve(matrices.size());
  for (const Matrix& matrix : matrices) all.push_back(matrix.place);
  return all;
}

std::int64_t SpectralTensors::other_elements() const {
  std::int64_t elements = 0;
  for (const Segment& segment : others) elements += segment.range.elements();
  return elements;
}

MuonDirection::MuonDirection(const ExecutionSpace& exec, const SpectralTensors& tensors,
                             std::int64_t elements, Communicator& communicator, Variance variance)
    : tensors_(tensors),
      others_(packed(tensors.others)),
      newton_schulz_(exec, tensors.places()),
      factors_variance_(variance == Variance::factored),
      m_(allocate_zeros<float>(exec, "kadam::MuonDirection::m", elements)) {
  if (factors_variance_) {
    factored_ = FactoredVariance(exec, tensors.other_tensors, communicator);
  } else {
    v_ = allocate_zeros<float>(exec, "kadam::MuonDirection::v", others_.elements);
  }
}

void MuonDirection::set_groups(const ResolvedGroups& groups) {
  tensors_ = tensors_.regrouped(groups);
  others_ = packed(tensors_.others);
}

void MuonDirection::advance(const Step& step, const Gradient& gradient, const Target& of,
                            const Vector<float>& target) {
  const Ema first = Ema::make(step.common.beta1);
  const double decay = of.decays ? step.gamma() : 0.0;
  for (const SpectralTensors::Matrix& matrix : tensors_.matrices) {
    const Vector<const float> direction =
        newton_schulz_.direction(step.exec, matrix.place, first, step.gradient_scale(), gradient, m_);
    const double size = 0.2 * std::sqrt(static_cast<double>(matrix.place.long_side()));
    add_matrix(step.exec, matrix.place,
               static_cast<float>(1.0 - decay * matrix.lr_scale * matrix.weight_decay),
               static_cast<float>(of.sign * step.gamma() * matrix.lr_scale * size), direction, target);
  }
  if (factors_variance_) {
    const auto towards = AdamDirectionOf::make(1.0, of.sign * step.gamma(), step.common.eps,
                                               step.first_correction(), step.second_correction());
    factored_.update(step.exec, gradient, Ema::make(step.common.beta2), step.gradient_scale());
    accumulate_momentum_direction(
        step.exec, step.by_segment(MomentumAndDirectionOf{first, step.gradient_scale(), towards}),
        factored_.factors(), m_, gradient, target);
    return;
  }
  const DecayedDirectionOf rule{{first, Ema::make(step.common.beta2), step.gradient_scale()},
                                decay,
                                of.sign * step.gamma() / step.first_correction(),
                                static_cast<float>(1.0 / step.second_correction()),
                                static_cast<float>(step.common.eps)};
  accumulate_packed_direction(step.exec, others_, rule, gradient, m_, v_, target);
}

void MuonDirection::average_variance(const ExecutionSpace& exec, Phases& phases) {
  if (factors_variance_) factored_.average(exec, phases);
}

double MuonDirection::sum_of_variance(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const {
  if (factors_variance_) return factored_.sum(exec);
  return ordered_sum(exec, others_.elements, MagnitudeOf<MemorySpace>{v_}, space);
}

void MuonDirection::describe_state(StateFields& fields) const {
  fields.equal("m", m_);
  fields.equal("v", v_);
}

void MuonDirection::describe_own_state(StateFields& fields) const {
  fields.of_each_rank("m", m_);
  if (factors_variance_) {
    factored_.describe_state(fields);
  } else {
    fields.of_each_rank("v", v_);
  }
}

MemoryUse MuonDirection::memory(const SpectralTensors& tensors, const Problem& problem, Variance variance) {
  MemoryUse use{problem.vectors(1), NewtonSchulz::memory_bytes(tensors.places())};
  if (variance == Variance::factored) {
    use += FactoredVariance::cost(tensors.other_tensors, problem.ranks, problem.threads).memory;
  } else {
    use.state_bytes += sizeof(float) * static_cast<std::size_t>(tensors.other_elements());
  }
  return use;
}

void MuonDirection::add_work(const SpectralTensors& tensors, StepPhase& phase) {
  phase.add({cost::matrix_product, NewtonSchulz::multiplications(tensors.places())});
}

}  // namespace kadam
