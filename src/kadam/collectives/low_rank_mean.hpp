// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/factor_mean.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/low_rank.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <vector>

namespace kadam {

struct LowRankOptions {
  std::int64_t rank = 2;         ///< columns of a factor, at most the shorter side of its matrix
  std::int64_t factor_bits = 8;  ///< 4, 8 or 32
  std::uint64_t seed = 1;        ///< of the columns that Q begins with
};

/// What LowRankMean exchanges and holds, without its buffers.
class LowRankMeanLayout {
 public:
  LowRankMeanLayout() = default;
  /// dense: ascending ranges of whole tensors, whose mean is exact whatever their shape is.
  LowRankMeanLayout(const Arrangement& ranks, const LowRankOptions& options, const TensorLayout& layout,
                    const std::vector<ElementRange>& dense);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  /// Whether there is somebody to send to: else the mean is the vector itself, without error.
  [[nodiscard]] bool compresses() const { return ranks_.ranks > 1; }
  /// The matrices that are compressed.
  [[nodiscard]] const std::vector<LowRankMatrix>& matrices() const { return matrices_; }
  [[nodiscard]] const LowRankExtents& extents() const { return extents_; }
  /// Of Q: that of all matrices, kept dense or not, so that a state is the same whatever is kept dense.
  [[nodiscard]] std::int64_t q_elements() const { return q_elements_; }
  /// The elements outside of them: ascending, as few ranges as they make.
  [[nodiscard]] const std::vector<ElementRange>& others() const { return others_; }
  /// The lengths of the columns of all P, and of all R; where their sums lie in parts.
  [[nodiscard]] std::vector<std::int64_t> left_columns() const;
  [[nodiscard]] std::vector<std::int64_t> right_columns() const;
  [[nodiscard]] std::vector<FactorParts> left_parts() const;
  [[nodiscard]] std::vector<FactorParts> right_parts() const;
  [[nodiscard]] const FactorQuantiser& quantiser() const { return quantiser_; }

  [[nodiscard]] Cost cost() const;

 private:
  Arrangement ranks_;
  FactorQuantiser quantiser_;
  std::int64_t elements_ = 0;
  std::vector<LowRankMatrix> matrices_;
  LowRankExtents extents_;
  std::int64_t q_elements_ = 0;
  std::vector<ElementRange> others_;
};

/// The mean of a vector over ranks, that of its matrices by a linear low-rank code with error feedback (after
/// PowerSGD, Vogels et al. 2019).
///
///   M = s G + e                                                     every rank, per a x b matrix
///   P = fmean(M Q);  P <- orthonormal columns                       a x q, by FactorMean
///   R_i = decode(M^T P);  R = fmean of them                         b x q
///   mean = P R^T;  e <- M - P R_i^T (+ n P (what the owner's rounding lost of R)^T, at the owner)
///   Q <- R;  its zero columns from the seed matrix
///   elements outside matrices, and tensors kept dense: the exact mean of s G + e, of which nothing is kept
///
/// Products are linear in M: how the mean is split over ranks does not matter, but for the codes' rounding.
/// Law, per element and from zero errors: sum_t mean + (1/n) sum_i e_i = sum_t (1/n) sum_i s G_i. All ranks
/// hold bitwise the same mean. One rank: the vector itself, without error. A row or column that is zero on
/// all ranks stays zero.
///
/// In two levels factors are exchanged by all ranks, as in one: they are short. What is exact has two levels.
///
/// Memory: state 4 d + 4 f_Q; workspace 4 d for the mean, about 0.13 q B per element for sums in double, the
/// factors and FactorMean's for both. Wire: 2 (n - 1)/n (f bits/8 + 4 blocks + 4 d1) for f = sum of q (a + b)
/// over matrices and d1 elements outside them. Worked number: 1024 x 1024, q = 2, 8 bits, n = 2: 4 blocks of
/// 1028 bytes, 4112 bytes per rank: 1020 times less than the dense mean.
class LowRankMean {
 public:
  LowRankMean() = default;
  /// The communicator has to live on. dense: as of LowRankMeanLayout.
  LowRankMean(const ExecutionSpace& exec, const LowRankOptions& options, Communicator& communicator,
              const TensorLayout& layout, const std::vector<ElementRange>& dense);

  /// The mean of scale times the gradient; valid until the next call. Collective.
  [[nodiscard]] Vector<const float> operator()(const ExecutionSpace& exec, Phases& phases,
                                               const Numbers<MemorySpace>& gradient, float scale);

  /// The result of the last call.
  [[nodiscard]] Vector<const float> mean() const { return mean_; }
  /// |e|^2. Waits for exec.
  [[nodiscard]] double squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const;

  /// e of each rank, Q of all. One rank, which has none, delivers the e of a checkpoint with its next mean.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// After fields were read.
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields);

  [[nodiscard]] const LowRankMeanLayout& layout() const { return layout_; }

 private:
  void exchange_matrices(const ExecutionSpace& exec, Phases& phases, const LowRankInput<MemorySpace>& input);
  void exchange_others(const ExecutionSpace& exec, Phases& phases, const LowRankInput<MemorySpace>& input);
  void deliver_owed(const ExecutionSpace& exec);

  LowRankMeanLayout layout_;
  std::uint64_t seed_ = 1;
  LowRankMatrices<MemorySpace> matrices_;
  FactorMean left_mean_;
  FactorMean right_mean_;
  DenseSubset others_;
  Vector<float> mean_;
  Vector<float> error_;
  Vector<float> left_;   ///< P
  Vector<float> right_;  ///< R
  Vector<float> q_;
  Vector<float> taken_;  ///< R_i, with what the owner lost
  Vector<double> left_sums_;
  Vector<double> right_sums_;
  Vector<double> work_;
  Vector<float> owed_;  ///< e of a checkpoint of several ranks, until one rank alone has delivered it
};

}  // namespace kadam
