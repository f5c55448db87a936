// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/muon_direction.hpp>
#include <kadam/collectives/low_rank_mean.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace kadam {

/// Muon on a low-rank mean of the gradients: ranks exchange two factors of each matrix instead of the matrix.
///
///   G = LowRankMean of the ranks' gradients;  x <- (1 - gamma lambda) x - gamma u,  u by MuonDirection of G
///
/// Every matrix is compressed, also those that Adam updates; tensors that are no matrices
/// (Tensor::is_matrix()), and those kept dense, have an exact mean in float32. The code is linear: but for
/// rounding, it loses no more where the ranks' data differ. Clipping: each rank's gradient by the root mean
/// square of the ranks' norms, before it enters an error. lr = 0: the gradient enters errors and moments as
/// ever, x stays. One rank: Muon.
///
/// Memory: MuonDirection's and LowRankMean's. Wire: LowRankMean's.
class LowRankMuon final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    std::string matrices = "all";
    std::int64_t rank = 2;  ///< columns of a factor
    std::int64_t factor_bits = 8;
    std::int64_t seed = 1;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
    [[nodiscard]] LowRankOptions low_rank() const {
      return {rank, factor_bits, static_cast<std::uint64_t>(seed)};
    }
  };

  LowRankMuon(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  void groups_were_set() override { direction_.set_groups(groups()); }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;
  void add_health(const ExecutionSpace& exec, Health& health) override;

 private:
  MuonDirection direction_;
  LowRankMean mean_;
};

}  // namespace kadam
