// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/variance_factors.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <vector>

namespace kadam {

/// The second moment whose root divides the momentum of a rank's own gradients. own: each rank has a full v;
/// factored: each rank has factors of v, which are replaced by their means over ranks now and then
/// (FactoredVariance).
enum class Variance : std::uint8_t { own, factored };

/// Adds the option `variance`; the present value of `variance` is its default.
void add_variance(OptionFields& fields, Variance& variance);

/// The second moment of a rank's own gradients, which keeps one number for each row and each column of a
/// matrix.
///
///   matrix a x b:  R <- ema(R, row means of g^2, beta2);  C <- ema(C, column means of g^2, beta2)
///                  v_jk = R_j C_k / mean(R);  0 where mean(R) = 0
///   others:        v <- ema(v, g^2, beta2)
///   average():     R, C and the others' v <- their means over the ranks
///
/// The factors are linear in g^2, so their means are the factors of the mean: after each average() all ranks
/// have the same preconditioner (the factors are Adafactor's, Shazeer and Stern 2018). Exact where g^2 has
/// rank 1.
///
/// Memory: 4 B for each row, column and element outside matrices instead of 4 d, and VarianceFactors' sums
/// and tables. Wire: 2 (n - 1)/n times these 4 B per average. Worked number: a matrix of 1000 x 1000 and 1000
/// elements of a bias, n = 4: 12 kB of state instead of 4 MB; 18 kB sent per average.
class FactoredVariance {
 public:
  FactoredVariance() = default;
  /// tensors: those of a flat vector, all or some of them. The communicator has to outlive this object.
  FactoredVariance(const ExecutionSpace& exec, const std::vector<Tensor>& tensors,
                   Communicator& communicator);

  /// Updates R, C and the others' v from this rank's gradient. second: ema of beta2; gradient_scale: factor
  /// of clipping. Shape: gradient [d], the whole flat vector.
  void update(const ExecutionSpace& exec, const Gradient& gradient, const Ema& second,
              float gradient_scale) const;
  /// Replaces R, C and the others' v by their means over the ranks. Collective.
  void average(const ExecutionSpace& exec, Phases& phases);

  /// R, C and the others' v, for the kernels for_each_with_variance() and accumulate_momentum_direction().
  [[nodiscard]] const VarianceFactors<MemorySpace>& factors() const { return factors_; }

  void describe_state(StateFields& fields) const;

  /// Sum of v over all elements, in double. Waits for exec.
  [[nodiscard]] double sum(const ExecutionSpace& exec) const;

  /// The memory, and the transfers of one average(). threads: CPU threads of a rank; 0: a GPU.
  [[nodiscard]] static Cost cost(const std::vector<Tensor>& tensors, const Arrangement& ranks,
                                 std::int64_t threads);
  /// The work of kernels in one average().
  [[nodiscard]] static std::vector<Work> work_of_average(const std::vector<Tensor>& tensors);

 private:
  VarianceFactors<MemorySpace> factors_;
  std::vector<VarianceShape> shapes_;
  DenseMean mean_;
};

}  // namespace kadam
