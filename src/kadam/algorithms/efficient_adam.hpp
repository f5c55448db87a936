// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/factored_variance.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/kernels/adam_direction.hpp>

namespace kadam {

/// Efficient-Adam: two-way quantised updates with two-way error feedback (Chen et al. 2022).
///
///   m, v by ema of this rank's own g, g^2;  y = gamma (m/c1) / (sqrt(v/c2) + eps)
///   x <- (1 - gamma lambda) x - C-AR(y)
///
/// No warm-up. When noise dominates, a rank's own v is up to n times as large as that of the mean gradient:
/// learning rates of dense Adam do not transfer, try rates up to sqrt(n) times as large. Learning rate 0 adds
/// nothing, but what is owed from earlier steps is still delivered. With variance = "factored" v is made of
/// factors, which are replaced by their means over ranks every variance_sync_interval steps
/// (FactoredVariance). Clipping: by the root mean square of the ranks' norms. Tensors kept dense exchange the
/// exact mean of their y.
///
/// Memory: 12 d + 4 d/n state bytes for n > 1. Wire: CompressedMean's bytes.
/// Worked number: d = 10^6, n = 4, 4 bits, block 2048: 753 kB per step.
class EfficientAdam final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    CodecOptions codec{.code = "uniform4"};
    Variance variance = Variance::own;
    StepsOrAuto variance_sync_interval{0, true};  ///< auto: 10; only with a factored variance

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
    [[nodiscard]] bool factors_variance() const { return variance == Variance::factored; }
    /// T_v; 0: never.
    [[nodiscard]] std::int64_t variance_interval() const {
      if (!factors_variance()) return 0;
      return variance_sync_interval.automatic ? 10 : variance_sync_interval.steps;
    }
  };

  EfficientAdam(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  void add_health(const ExecutionSpace& exec, Health& health) override;

 private:
  /// worker error += y
  void accumulate(const Step& step);
  /// The same with a factored variance.
  void accumulate_by_factors(const Step& step, const AdamDirectionOf& direction);

  std::int64_t variance_interval_;
  bool factors_variance_;
  Moments moments_;  ///< v is empty with a factored variance
  FactoredVariance factored_variance_;
  GroupedMean mean_;
};

}  // namespace kadam
