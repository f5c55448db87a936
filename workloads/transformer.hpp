// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/embeddings.hpp>
#include <workloads/model.hpp>
#include <workloads/network.hpp>
#include <workloads/transformer_encoder.hpp>

#include <cstdint>

namespace kadam::workloads {

/// A language model: token and position embeddings, pre-norm blocks, a last layer norm and an output
/// projection that is not tied to the embedding. DataShape::masked decides what it predicts:
/// - 0: the next token at each position, with causal attention (Radford et al. 2018);
/// - above 0: the masked tokens, with attention in both directions (Devlin et al. 2018). The output
///   layers then see the masked positions only.
///
/// d = (vocabulary + context) w + depth (12 w² + 13 w) + 2 w + classes (w + 1) for width w.
/// Worked number: width 96, depth 2, context 64 and 256 tokens have d = 279,424; with a mask 279,520.
class Transformer final : public Network {
 public:
  Transformer(const TransformerOptions& options, const DataShape& shape)
      : Transformer((options.validate(), options), shape, TensorLayoutBuilder()) {}

  void initialise(const HostVector<float>& parameters, std::uint64_t seed) const override;

 protected:
  void check(const Batch& batch) const override;
  void carve(Arena& arena, std::int64_t examples) override;
  Matrix<float> forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                        const Batch& batch) override;
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch,
                const Matrix<float>& dlogits, const GradientSink& gradient) override;

 private:
  Transformer(const TransformerOptions& options, const DataShape& shape, TensorLayoutBuilder builder);

  [[nodiscard]] bool is_masked() const { return data_.masked > 0; }

  TransformerOptions options_;
  DataShape data_;
  TokenEmbedding tokens_;
  PositionEmbedding positions_;
  TransformerEncoder encoder_;
  TransformerHead head_;
  TokenGradientScratch token_scratch_;
  Matrix<float> chosen_, dchosen_;  ///< rows of the masked positions
};

}  // namespace kadam::workloads
