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

/// Which tensors are updated by their singular vectors, and which by Adam.
struct SpectralTensors {
  /// A matrix with what its group says of it.
  struct Matrix {
    MatrixPlace place;
    double lr_scale = 1.0;
    double weight_decay = 0.0;
  };
  std::vector<Matrix> matrices;
  std::vector<Segment> others;        ///< in order; neighbours with equal values joined
  std::vector<Tensor> other_tensors;  ///< the same, each with its shape

  /// Spectral are those matrices that the layout does not leave out and that `names` holds: "all", or
  /// patterns of names, separated by commas (* stands for any characters). Errors: std::invalid_argument for
  /// a pattern that fits the name of no tensor.
  [[nodiscard]] static SpectralTensors named(const std::string& names, const TensorLayout& layout,
                                             const ResolvedGroups& groups);
  /// Adam for all.
  [[nodiscard]] static SpectralTensors none(const TensorLayout& layout, const ResolvedGroups& groups) {
    return {{}, groups.segments, layout.tensors()};
  }

  /// The same tensors in other groups.
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
/// With a factored variance v of the others is FactoredVariance's.
///
/// Memory: 4 d + 4 d1 state bytes, d1 elements outside spectral matrices, which need no v; NewtonSchulz'
/// workspace.
class MuonDirection {
 public:
  MuonDirection() = default;
  /// The communicator has to live on.
  MuonDirection(const ExecutionSpace& exec, const SpectralTensors& tensors, std::int64_t elements,
                Communicator& communicator, Variance variance = Variance::own);

  /// What becomes of the target of a step: target <- (1 - decay gamma lambda) target + sign gamma u.
  struct Target {
    double sign = 1.0;
    bool decays = false;  ///< whether decay is 1, not 0
  };
  static constexpr Target of_parameters = {-1.0, true};
  static constexpr Target of_accumulated_steps = {1.0, false};

  /// Takes the gradient (mean or own, scaled by step.gradient_scale()) into the moments, and the direction
  /// into the target. Async.
  void advance(const Step& step, const Gradient& gradient, const Target& of, const Vector<float>& target);

  /// Other learning rates or weight decays of the same tensors.
  void set_groups(const ResolvedGroups& groups);

  /// Makes the factors of a factored variance those of all ranks; nothing else. Collective.
  void average_variance(const ExecutionSpace& exec, Phases& phases);

  /// The same on all ranks, or of each rank's own gradients.
  void describe_state(StateFields& fields) const;
  void describe_own_state(StateFields& fields) const;
  /// Sum of v of the elements outside spectral matrices, in double. Waits for exec.
  [[nodiscard]] double sum_of_variance(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const;

  /// The problem is the one that the tensors are of.
  [[nodiscard]] static MemoryUse memory(const SpectralTensors& tensors, const Problem& problem,
                                        Variance variance = Variance::own);
  /// Adds the products to a phase whose other work is that of Adam.
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
