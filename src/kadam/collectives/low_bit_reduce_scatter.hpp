// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/block_codec.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/communicator.hpp>

namespace kadam {

/// The mean of a vector over ranks, each chunk at its owner alone, sent with few bits and with a
/// moving-average error that is itself kept in 8 bits (LoCo, Xie et al. 2024).
///
///   h = g + e;  q = C(h);  e <- C8(beta_e e + (1 - beta_e)(h - q))        every rank
///   chunk j of q goes to rank j, which takes the mean                      all-to-all
///
/// One rank: the vector itself, without error. Memory: error d + 4 d/B, messages about 2 d bits/8, mean 4
/// d/n. Wire: (n - 1)/n (d bits/8 + 4 d/B) bytes per rank when chunks are equal. Worked number: d = 2^20, n =
/// 4, B = 256, 4 bits: 405 504 bytes.
class LowBitReduceScatter {
 public:
  LowBitReduceScatter() = default;
  LowBitReduceScatter(const ExecutionSpace& exec, const AnyQuantiser& quantiser, const ChunkLayout& chunks,
                      std::int64_t block_elements, double error_beta, int rank);

  /// The mean of gradient_scale times `gradient` over the own chunk, in float32; valid until the next call.
  /// Inactive elements are sent as 0. Collective.
  [[nodiscard]] Vector<float> operator()(const ExecutionSpace& exec, Communicator& communicator,
                                         Phases& phases, const Numbers<MemorySpace>& gradient,
                                         float gradient_scale, const ActiveMask<MemorySpace>& active);

  /// The result of the last call.
  [[nodiscard]] const Vector<float>& mean() const { return mean_; }
  /// e <- 0.
  void reset_error(const ExecutionSpace& exec) const;
  /// |e|^2. Waits for exec.
  [[nodiscard]] double squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const;

  /// What this rank sends in one call.
  [[nodiscard]] std::size_t bytes_sent() const;
  [[nodiscard]] std::size_t state_bytes() const {
    return error_.codes.size() + error_.steps.size() * sizeof(float);
  }
  [[nodiscard]] std::size_t workspace_bytes() const {
    return (messages_.size() + received_.size()) * sizeof(std::uint32_t) + mean_.size() * sizeof(float);
  }

 private:
  ChunkLayout chunks_;
  int rank_ = 0;
  double error_beta_ = 0.0;
  BlockCodec codec_;
  ByteError<MemorySpace> error_;
  SlicedChunks slices_;
  Words<MemorySpace> messages_;
  Words<MemorySpace> received_;
  Vector<float> mean_;
};

}  // namespace kadam
