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

/// The codes that factors can have; the identity stands for 32 bits.
using FactorQuantiser = std::variant<UniformQuantiser<4>, UniformQuantiser<8>, IdentityQuantiser>;

/// The code of so many bits. Errors: std::invalid_argument unless bits is 4, 8 or 32.
[[nodiscard]] FactorQuantiser make_factor_quantiser(std::int64_t bits);

/// What FactorMean exchanges and holds, without its buffers. It has one level: factors are short.
class FactorMeanLayout {
 public:
  FactorMeanLayout() = default;
  /// columns: their lengths.
  FactorMeanLayout(const Arrangement& ranks, const FactorQuantiser& quantiser,
                   const std::vector<std::int64_t>& columns);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const FactorMessage& message() const { return message_; }
  [[nodiscard]] ElementRange own_chunk() const { return message_.chunks().chunk(rank_); }
  /// Of one mean.
  [[nodiscard]] Cost cost() const;

 private:
  int ranks_ = 1;
  int rank_ = 0;
  FactorMessage message_;
};

/// The mean over ranks of the columns of factors, coded both ways, without an error of its own.
///
///   q = C(own);  chunk j of q goes to rank j              all-to-all
///   p = (1/n) sum q, in rank order;  C(p) goes to all     all-gather
///
/// Every rank, the owner too, decodes the same bytes. Who needs to know what rounding took gets it: what the
/// own codes say, minus n times what the owner's codes lose of its chunk, so that the mean of that over ranks
/// is the result. With 32 bits nothing is lost.
///
/// Wire: 2 (n - 1)/n (f bits/8 + 4 blocks) bytes per rank for f elements when chunks are equal; a block is
/// the part of one column in one chunk. Memory: about 3 f bits/8, 4 f/n and 40 B per block. Worked number:
/// two columns of 1024, n = 2, 8 bits: chunks of one column, 1028 bytes there and 1028 back.
class FactorMean {
 public:
  FactorMean() = default;
  /// parts: of each column. The communicator has to live on.
  FactorMean(const ExecutionSpace& exec, const FactorQuantiser& quantiser, Communicator& communicator,
             const std::vector<std::int64_t>& columns, const std::vector<FactorParts>& parts);

  enum class Loss : std::uint8_t { forgotten, kept };
  /// mean <- the mean over ranks of the sums of these parts; own <- what the own codes say of them, with
  /// Loss::kept also what the owner lost. Collective. Shape: own and mean [elements]; they may be the same
  /// vector if losses are forgotten.
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
  Words<MemorySpace> received_;  ///< of the own chunk, from all ranks
  Words<MemorySpace> replies_;
  Vector<float> means_;  ///< [own chunk]
};

}  // namespace kadam
