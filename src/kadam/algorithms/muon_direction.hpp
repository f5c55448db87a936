// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/factored_variance.hpp>
#include <kadam/algorithms/newton_schulz.hpp>
#include <kadam/algorithms/step.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/parameter_groups.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kadam {

/// Divides tensors into spectral matrices, which follow their orthogonalised momentum, and others, which Adam
/// updates.
struct SpectralTensors {
  /// A spectral matrix, with the values of its parameter group.
  struct Matrix {
    MatrixPlace place;
    double lr_scale = 1.0;
    double weight_decay = 0.0;
  };
  std::vector<Matrix> matrices;
  std::vector<Segment> others;        ///< in order; neighbours with equal values are joined
  std::vector<Tensor> other_tensors;  ///< those in `others`, each with its shape

  /// Takes as spectral the matrices that `names` holds, unless the layout leaves them out (Tensor::spectral).
  /// names: "all", or patterns of names, separated by commas (* stands for any characters). Errors:
  /// std::invalid_argument for a pattern that fits the name of no tensor.
  [[nodiscard]] static SpectralTensors named(const std::string& names, const TensorLayout& layout,
                                             const ResolvedGroups& groups);
  /// Takes no tensor as spectral: Adam updates all.
  [[nodiscard]] static SpectralTensors none(const TensorLayout& layout, const ResolvedGroups& groups) {
    return {{}, groups.segments, layout.tensors()};
  }

  /// The same tensors with lr_scale and the weight decays of other groups.
  [[nodiscard]] SpectralTensors regrouped(const ResolvedGroups& groups) const;
  [[nodiscard]] std::vector<MatrixPlace> places() const;
  [[nodiscard]] std::int64_t other_elements() const;
};

/// The direction u of Muon, with the moments that it is made of.
///
///   a x b matrices:  m <- ema(m, g, beta1);  w = ema(m, g, beta1);  u = 0.2 sqrt(max(a, b)) orth(w)
///   others:          m, v by ema of g, g²;  u = (m/c1) / (sqrt(v/c2) + eps)
///
/// 0.2 sqrt(max(a, b)) gives the entries of u the root mean square of Adam's (Liu et al. 2025), so that
/// Adam's learning rate carries over. orth: NewtonSchulz.
///
/// With a factored variance the others have a FactoredVariance in place of v.
///
/// Memory: 4 d + 4 d1 state bytes, where d1 is the number of elements outside spectral matrices (spectral
/// matrices need no v); NewtonSchulz' workspace.
class MuonDirection {
 public:
  MuonDirection() = default;
  /// elements: d, of the whole vector. The communicator has to outlive this object.
  MuonDirection(const ExecutionSpace& exec, const SpectralTensors& tensors, std::int64_t elements,
                Communicator& communicator, Variance variance = Variance::own);

  /// How advance() changes its target: target <- (1 - decay gamma lambda) target + sign gamma u.
  struct Target {
    double sign = 1.0;
    bool decays = false;  ///< decay is 1 if true, else 0
  };
  static constexpr Target of_parameters = {-1.0, true};
  static constexpr Target of_accumulated_steps = {1.0, false};

  /// Updates the moments with the gradient (mean or own) times step.gradient_scale(), and `target` with the
  /// direction u, as `of` says. With a factored variance `of` must not decay. Async.
  void advance(const Step& step, const Gradient& gradient, const Target& of, const Vector<float>& target);

  /// Takes lr_scale and the weight decays of the same tensors from `groups`.
  void set_groups(const ResolvedGroups& groups);

  /// Replaces the factors of a factored variance by their means over the ranks; without factors it does
  /// nothing. Collective.
  void average_variance(const ExecutionSpace& exec, Phases& phases);

  /// Describes moments that are equal on all ranks. Not with a factored variance.
  void describe_state(StateFields& fields) const;
  /// Describes moments of each rank's own gradients.
  void describe_own_state(StateFields& fields) const;
  /// Sum of v of the elements outside spectral matrices, in double. Waits for exec.
  [[nodiscard]] double sum_of_variance(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const;

  /// The memory of a MuonDirection of these tensors; they are tensors of `problem`.
  [[nodiscard]] static MemoryUse memory(const SpectralTensors& tensors, const Problem& problem,
                                        Variance variance = Variance::own);
  /// Adds the matrix products to a phase that has the work of Adam already.
  static void add_work(const SpectralTensors& tensors, StepPhase& phase);

 private:
  SpectralTensors tensors_;
  PackedRanges<MemorySpace> others_;
  NewtonSchulz newton_schulz_;
  bool factors_variance_ = false;
  FactoredVariance factored_;
  Vector<float> m_;
  Vector<float> v_;  ///< of the elements outside spectral matrices, one after the other
};

}  // namespace kadam
