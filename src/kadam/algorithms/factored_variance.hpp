// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/kernels/factored_variance.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <vector>

namespace kadam {

/// What moments of a rank's own gradients are divided by: a full v of each rank, or factors of it that become
/// those of all ranks now and then (FactoredVariance).
enum class Variance : std::uint8_t { own, factored };

/// Adds the option `variance`, whose default is the value that it has.
void add_variance(OptionFields& fields, Variance& variance);

/// The second moment of a rank's own gradients, of a matrix as a number for each row and each column.
///
///   matrix a x b:  R <- ema(R, row means of g^2, beta2);  C <- ema(C, column means of g^2, beta2)
///                  v_jk = R_j C_k / mean(R);  0 where mean(R) = 0
///   others:        v <- ema(v, g^2, beta2)
///   average():     R, C and the others' v <- their means over the ranks
///
/// Linear in g^2, so means of factors are factors of the mean: at every average the ranks have one
/// preconditioner (the factors are Adafactor's, Shazeer and Stern 2018). Exact where g^2 has rank 1.
///
/// Memory: 4 B for each row, column and element outside matrices instead of 4 d, and VarianceFactors' sums
/// and tables. Wire: 2 (n - 1)/n times these 4 B per average. Worked number: a matrix of 1000 x 1000 and 1000
/// elements of a bias, n = 4: 12 kB of state instead of 4 MB; 18 kB sent per average.
class FactoredVariance {
 public:
  FactoredVariance() = default;
  /// Of these tensors of a vector, which may be some of all. The communicator has to live on.
  FactoredVariance(const ExecutionSpace& exec, const std::vector<Tensor>& tensors,
                   Communicator& communicator);

  /// The first three lines; gradient_scale: that of clipping.
  void update(const ExecutionSpace& exec, const Gradient& gradient, const Ema& second,
              float gradient_scale) const;
  /// The last line. Collective.
  void average(const ExecutionSpace& exec, Phases& phases);

  /// For kernels: for_each_with_variance(), accumulate_momentum_direction().
  [[nodiscard]] const VarianceFactors<MemorySpace>& factors() const { return factors_; }

  void describe_state(StateFields& fields) const;

  /// Sum of v over all elements, in double. Waits for exec.
  [[nodiscard]] double sum(const ExecutionSpace& exec) const;

  /// State and workspace, and the transfers of an average; threads: of a CPU, 0: a GPU.
  [[nodiscard]] static Cost cost(const std::vector<Tensor>& tensors, const Arrangement& ranks,
                                 std::int64_t threads);
  /// What an average makes kernels do.
  [[nodiscard]] static std::vector<Work> work_of_average(const std::vector<Tensor>& tensors);

 private:
  VarianceFactors<MemorySpace> factors_;
  std::vector<VarianceShape> shapes_;
  DenseMean mean_;
};

}  // namespace kadam
