// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/kernels/factor_coder.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/wire/factor_message.hpp>

#include <cstdint>
#include <variant>
#include <vector>

namespace kadam {

/// The codes of the factors P and R of a LowRankMean; the identity stands for 32 bits.
using FactorQuantiser = std::variant<UniformQuantiser<4>, UniformQuantiser<8>, IdentityQuantiser>;

/// The code of factors with this number of bits. Errors: std::invalid_argument unless bits is 4, 8 or 32.
[[nodiscard]] FactorQuantiser make_factor_quantiser(std::int64_t bits);

/// The layout of a FactorMean: its messages, memory and cost, without its buffers. It has one level, because
/// factors are short.
class FactorMeanLayout {
 public:
  FactorMeanLayout() = default;
  /// columns: the length of each column.
  FactorMeanLayout(const Arrangement& ranks, const FactorQuantiser& quantiser,
                   const std::vector<std::int64_t>& columns);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const FactorMessage& message() const { return message_; }
  [[nodiscard]] ElementRange own_chunk() const { return message_.chunks().chunk(rank_); }
  /// The cost of one mean.
  [[nodiscard]] Cost cost() const;

 private:
  int ranks_ = 1;
  int rank_ = 0;
  FactorMessage message_;
};

/// The mean over ranks of the columns of factors, coded on the way to the owners and back. It keeps no error.
///
///   q = C(sums of the rank);  chunk j of q goes to rank j all-to-all
///   p = (1/n) sum q, in rank order;  C(p) goes to all     all-gather
///
/// Every rank, the owner too, decodes the same bytes. For callers that keep an error (Loss::kept), the values
/// q of each rank are corrected: an owner subtracts n (p - C(p)), its rounding, from q in its chunk. Then the
/// mean of the corrected q over ranks is the result. With 32 bits nothing is rounded.
///
/// Wire: 2 (n - 1)/n (f bits/8 + 4 blocks) bytes per rank for f elements when chunks are equal; a block is
/// the part of one column in one chunk. Memory: about 3 f bits/8, 4 f/n and 48 B per block. Worked number:
/// two columns of 1024, n = 2, 8 bits: chunks of one column, 1028 bytes there and 1028 back.
class FactorMean {
 public:
  FactorMean() = default;
  /// columns: the length of each column; parts: for each column, the places of its partial sums in `sums`.
  /// The communicator has to outlive this object.
  FactorMean(const ExecutionSpace& exec, const FactorQuantiser& quantiser, Communicator& communicator,
             const std::vector<std::int64_t>& columns, const std::vector<FactorParts>& parts);

  /// The rounding of owners is forgotten, or subtracted from `own` (see the class).
  enum class Loss : std::uint8_t { forgotten, kept };
  /// Takes the mean over ranks: each column of a rank is the sum of its parts in `sums`. mean <- C(p); own <-
  /// q, decoded, with Loss::kept less n (p - C(p)) in the own chunk. Collective. Shape: sums: all places that
  /// `parts` names; own and mean [elements]; with Loss::forgotten they may be the same vector.
  void operator()(const ExecutionSpace& exec, Phases& phases, const Vector<const double>& sums,
                  const Vector<float>& own, const Vector<float>& mean, Loss loss);

  [[nodiscard]] const FactorMeanLayout& layout() const { return layout_; }

 private:
  FactorMeanLayout layout_;
  FactorQuantiser quantiser_;
  Communicator* communicator_ = nullptr;
  FactorBlocks<MemorySpace> blocks_;
  Vector<const FactorParts> parts_;
  std::vector<Piece> received_pieces_;
  Words<MemorySpace> messages_;
  Words<MemorySpace> received_;  ///< messages of the own chunk, from all ranks
  Words<MemorySpace> replies_;
  Vector<float> means_;  ///< [own chunk]
};

}  // namespace kadam
