// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/step.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/kernels/lamb_update.hpp>

namespace kadam {

/// A step of LAMB on a mean gradient that all ranks hold: what `lamb` does, and the warm-up of 1-bit LAMB.
///
/// Memory: 20 B per tensor, 40 B per tile (1024 elements on a CPU, 8192 on a GPU).
class DenseLambStep {
 public:
  struct Options {
    double trust_min = 0.01;
    double trust_max = 10.0;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
  };

  DenseLambStep() = default;
  DenseLambStep(const Options& options, const TensorLayout& layout, const ResolvedGroups& groups);

  /// Updates m and v with g, which is mean_gradient times gradient_scale; then x, with the trust ratio of
  /// each tensor and the step's learning rate. `own`: the memory of mean_gradient, if its elements are not
  /// needed any more, else empty; in their place u is kept from one pass to the next, not computed twice.
  void operator()(const Step& step, const Moments& moments, const Gradient& mean_gradient,
                  double gradient_scale, const Vector<float>& own) const;

  /// Takes lr_scale and the weight decay of each tensor from `groups`. Waits for all kernels, and for
  /// its copies.
  void set_groups(const ResolvedGroups& groups) const;

  /// The tensors, cut into tiles.
  [[nodiscard]] const TensorTiles<MemorySpace>& tiles() const { return tiles_; }
  /// lr_scale, the weight decay and the trust ratio of each tensor; the trust ratio is that of the last step.
  [[nodiscard]] const LambTensors<MemorySpace>& tensors() const { return tensors_; }
  /// Number of tiles of these tensors.
  [[nodiscard]] static std::int64_t tile_count(const TensorLayout& layout);
  /// Bytes that a DenseLambStep for these tensors holds.
  [[nodiscard]] static std::size_t memory_bytes(const TensorLayout& layout);

 private:
  Options options_;
  TensorTiles<MemorySpace> tiles_;
  LambTensors<MemorySpace> tensors_;
};

/// Dense LAMB: Adam's direction with a trust ratio per tensor, for large batches (You et al. 2020).
///
///   g, m, v as in adam;  u = (m/c1) / (sqrt(v/c2) + eps) + lambda x   per tensor
///   phi = |x| / |u| (1 if either is 0), clipped to [trust_min, trust_max];  x <- x - gamma phi u
///
/// Clipping: by the norm of the mean gradient. Memory and wire as adam; 40 B moved per element and step.
class Lamb final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    DenseLambStep::Options trust;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const { trust.validate(owner); }
  };

  Lamb(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  void groups_were_set() override { lamb_step_.set_groups(groups()); }
  [[nodiscard]] DenseMean* next_gradient_mean() override { return &mean_; }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  [[nodiscard]] bool has_dense_state() const override { return true; }

 private:
  Moments moments_;
  DenseMean mean_;
  DenseLambStep lamb_step_;
};

}  // namespace kadam
