// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>
#include <workloads/layers/embedding.hpp>
#include <workloads/network.hpp>
#include <workloads/transformer_block.hpp>

namespace kadam::workloads {

struct TransformerOptions {
  std::int64_t width = 96;        ///< of a token's vector; a multiple of `heads`
  std::int64_t depth = 2;         ///< blocks
  std::int64_t heads = 4;         ///< of attention, per block
  std::int64_t context = 0;       ///< tokens of an example; 0: those of the data set
  std::int64_t vocabulary = 256;  ///< different tokens: bytes

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// A causal language model: token and position embeddings, pre-norm blocks, a last layer norm, an output
/// projection of its own (not tied to the embedding), cross-entropy of the next token at each position.
///
/// d = (vocabulary + context) w + depth (12 w² + 13 w) + 2 w + vocabulary (w + 1) for width w.
/// Worked number: width 96, depth 2, context 64 and 256 tokens have d = 279,424.
class Transformer final : public Network {
 public:
  explicit Transformer(const TransformerOptions& options)
      : Transformer((options.validate(), options), TensorLayoutBuilder()) {}

  void initialise(const HostVector<float>& parameters, std::uint64_t seed) const override;

 protected:
  void check(const Batch& batch) const override;
  void carve(Arena& arena, std::int64_t examples) override;
  Matrix<float> forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                        const Batch& batch) override;
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch,
                const Matrix<float>& dlogits, const Vector<float>& gradient) override;

 private:
  Transformer(const TransformerOptions& options, TensorLayoutBuilder builder);

  [[nodiscard]] const Matrix<float>& input_of(std::size_t block) const {
    return block == 0 ? embedded_ : tapes_[block - 1].output;
  }

  TransformerOptions options_;
  Embedding embedding_;
  std::vector<TransformerBlock> blocks_;
  LayerNorm output_norm_;
  Linear output_;

  AttentionShape shape_;
  Matrix<float> embedded_;
  std::vector<BlockTape> tapes_;
  BlockScratch scratch_;
  Matrix<float> output_statistics_, normalised_, logits_, dx_;
};

}  // namespace kadam::workloads
