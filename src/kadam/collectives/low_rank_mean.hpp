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
#include <kadam/kernels/low_rank_matrix.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <vector>

namespace kadam {

struct LowRankOptions {
  std::int64_t rank = 2;         ///< q: columns of a factor, at most the shorter side of its matrix
  std::int64_t factor_bits = 8;  ///< 4, 8 or 32
  std::uint64_t seed = 1;        ///< of the seed matrix: the initial Q, and columns in place of zero ones
};

/// The layout of a LowRankMean: its messages, memory and cost, without its buffers.
class LowRankMeanLayout {
 public:
  LowRankMeanLayout() = default;
  /// dense: ascending ranges of whole tensors that are kept dense: their mean is exact, whatever their shape.
  LowRankMeanLayout(const Arrangement& ranks, const LowRankOptions& options, const TensorLayout& layout,
                    const std::vector<ElementRange>& dense);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  /// Whether there are several ranks; else the mean is the vector itself, without error.
  [[nodiscard]] bool compresses() const { return ranks_.ranks > 1; }
  /// The matrices that are compressed: all but those that are kept dense.
  [[nodiscard]] const std::vector<LowRankMatrix>& matrices() const { return matrices_; }
  /// The lengths of the buffers for the factors of matrices().
  [[nodiscard]] const LowRankExtents& extents() const { return extents_; }
  /// The elements of Q. All matrices have their place in it, also those that are kept dense, so that a state
  /// is the same whatever is kept dense.
  [[nodiscard]] std::int64_t q_elements() const { return q_elements_; }
  /// The elements outside matrices(): ascending ranges, neighbours joined.
  [[nodiscard]] const std::vector<ElementRange>& others() const { return others_; }
  /// The length of each column of the P of all matrices(), in order.
  [[nodiscard]] std::vector<std::int64_t> left_columns() const;
  /// The same of R.
  [[nodiscard]] std::vector<std::int64_t> right_columns() const;
  /// For each of left_columns(): where the parts of its sums lie.
  [[nodiscard]] std::vector<FactorParts> left_parts() const;
  /// The same for right_columns().
  [[nodiscard]] std::vector<FactorParts> right_parts() const;
  [[nodiscard]] const FactorQuantiser& quantiser() const { return quantiser_; }

  /// The cost of one mean; the memory is all that LowRankMean holds.
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

/// The mean over ranks of a vector s G, a gradient G times a scale s. Matrices are compressed by a linear
/// low-rank code with error feedback (after PowerSGD, Vogels et al. 2019).
///
///   M = s G + e                                                     every rank, per a x b matrix
///   P = fmean(M Q);  P <- orthonormal columns                       a x q, by FactorMean
///   R_i = decode(M^T P);  R = fmean of them                         b x q
///   mean = P R^T;  e <- M - P R_i^T (+ n P (R before the owner's rounding - R)^T, at the owner)
///   Q <- R;  its zero columns from the seed matrix
///   elements outside matrices, and tensors kept dense: mean = exact mean of s G + e;  e <- 0
///
/// fmean is FactorMean; R_i is decoded from the codes of rank i alone. Products are linear in M: how the
/// mean is split over ranks does not matter, except for the rounding of codes. Law, per element and from zero
/// errors: sum_t mean + (1/n) sum_i e_i = sum_t (1/n) sum_i s G_i. All ranks hold bitwise the same mean. One
/// rank: the mean is s G itself, without error. A row or column that is zero on all ranks stays zero.
///
/// In two levels all ranks exchange factors with each other, as in one level, because factors are short. The
/// exact means have two levels.
///
/// Memory: state 4 d + 4 f_Q, with f_Q the elements of Q; workspace 4 d for the mean, 8 q (1/128 + 1/8192) =
/// 0.064 q bytes per element of large matrices for partial sums in double (LowRankMatrix), the factors, and
/// the memory of FactorMean for P and for R.
/// Wire: 2 (n - 1)/n (f bits/8 + 4 blocks + 4 d1) for f = sum of q (a + b) over matrices and d1 elements
/// outside them. Worked number: 1024 x 1024, q = 2, 8 bits, n = 2: 4 blocks of 1028 bytes, 4112 bytes per
/// rank: 1020 times less than the dense mean.
class LowRankMean {
 public:
  LowRankMean() = default;
  /// The communicator has to outlive this object. dense: as for LowRankMeanLayout.
  LowRankMean(const ExecutionSpace& exec, const LowRankOptions& options, Communicator& communicator,
              const TensorLayout& layout, const std::vector<ElementRange>& dense);

  /// Returns the mean of scale times the gradient; valid until the next call. Collective. Shape: both [d].
  [[nodiscard]] Vector<const float> operator()(const ExecutionSpace& exec, Phases& phases,
                                               const Numbers<MemorySpace>& gradient, float scale);

  /// The result of the last call.
  [[nodiscard]] Vector<const float> mean() const { return mean_; }
  /// |e|^2. Waits for exec.
  [[nodiscard]] double squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const;

  /// Describes e, one for each rank, and Q, the same on all. A single rank keeps no e: it delivers that of a
  /// checkpoint with its next mean.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// Takes over the state that was read into `fields`.
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
  Vector<float> taken_;  ///< R_i, less n times the owner's rounding in the own chunk
  Vector<double> left_sums_;
  Vector<double> right_sums_;
  Vector<double> work_;
  Vector<float>
      owed_;  ///< e of a checkpoint of several ranks, until one rank alone has delivered it; else empty
};

}  // namespace kadam
