// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/collectives/chunk_gather.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/low_bit_reduce_scatter.hpp>

namespace kadam {

/// LoCo: low-bit gradients with a moving-average error, and optimizer states in shards (Xie et al. 2024).
///
///   h = g + e;  q = uniform_b(h) per block;  e <- uniform_8(beta_e e + (1 - beta_e)(h - q))
///   q: all-to-all; the owner of a chunk averages it and runs AdamW on its shard of m, v
///   parameters: all-gather;  e <- 0 whenever t mod T_c = 0, after the update
///
/// b = bits, B = block, beta_e = error_beta, T_c = error_reset. parameters = "bf16" sends the parameters with
/// 16 bits; the owner keeps float32 for its shard, and all ranks, the owner too, work with what was sent.
/// Clipping: by the norm of the averaged gradient, for which every owner sends 8 bytes to each other rank.
///
/// Memory: 8 d/n + d + 4 d/B state bytes, 4 d/n more with bf16. Wire: (n - 1)/n (d b/8 + 4 d/B) for the
/// gradient and (n - 1)/n 4 d (bf16: 2 d) for the parameters, which are the larger part.
/// Worked number: d = 10^6, n = 4, 4 bits, block 256: 387 kB + 3 MB per step, against 6 MB of dense Adam.
class Loco final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    std::string code = "uniform4";
    std::int64_t block = 256;
    double error_beta = 0.8;
    std::int64_t error_reset = 512;
    std::string parameters = "float32";

    void describe(OptionFields& fields);
    void validate(std::string_view /*owner*/) const {}
    /// Whether parameters are sent as bf16. False on one rank, which sends none.
    [[nodiscard]] bool rounds(const Arrangement& ranks) const;
  };

  Loco(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;
  void add_health(const ExecutionSpace& exec, Health& health) override;

 private:
  /// The mean gradient of the own chunk. Collective.
  [[nodiscard]] Vector<float> reduce_gradient(const Step& step);
  /// The factor that clips by the norm of the mean gradient over all chunks; g: that of the own chunk.
  /// Collective.
  [[nodiscard]] double clip_factor_of_shards(const Step& step, const Vector<const float>& g);
  void update_shard(const Step& step, const Vector<float>& shard, const Vector<const float>& g) const;
  void gather_parameters(const Step& step);
  void gather_rounded_parameters(const Step& step);
  [[nodiscard]] Vector<float> shard_of(const Vector<float>& x) const;

  Options options_;
  ElementRange own_;
  bool rounds_ = false;   ///< parameters are sent as bf16
  Moments moments_;       ///< of the own chunk
  Vector<float> master_;  ///< the own chunk in float32; empty when parameters are sent in float32
  LowBitReduceScatter reduce_scatter_;
  DenseSubset kept_dense_;
  CompressedCoordinates coordinates_;
  ChunkGather gather_;
  Vector<Bfloat16> rounded_;  ///< all parameters as they are sent
};

}  // namespace kadam
