// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/layers/attention.hpp>
#include <workloads/layers/layer_norm.hpp>
#include <workloads/layers/linear.hpp>
#include <workloads/matrix.hpp>
#include <workloads/parameters.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kadam::workloads {

/// Activations of a block that its backward pass needs. `output` is the next block's input.
struct BlockTape {
  Matrix<float> attention_statistics, attention_input, qkv, attention_output, middle;
  Matrix<float> mlp_statistics, mlp_input, hidden, activated, output;
  AttentionTape attention;

  BlockTape() = default;
  BlockTape(Arena& arena, const AttentionShape& shape, std::int64_t hidden_width);
};

/// Scratch of the backward pass, shared by all blocks of a stack.
struct BlockScratch {
  Matrix<float> row, qkv, hidden, scores;

  BlockScratch() = default;
  BlockScratch(Arena& arena, const AttentionShape& shape, std::int64_t hidden_width);
};

/// A pre-norm transformer block: middle = x + Attention(LN(x)), output = middle + MLP(LN(middle)), where MLP
/// has one hidden layer of 4 width with GELU. Shape: x, output [examples * positions][width].
class TransformerBlock {
 public:
  static constexpr std::int64_t expansion = 4;

  TransformerBlock(TensorLayoutBuilder& layout, const std::string& name, std::int64_t width);

  /// blocks: those of the whole stack. The two projections onto the residual stream are scaled by 1/√(2
  /// blocks).
  void initialise(const Initialiser& initialiser, std::int64_t blocks) const;

  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters, const AttentionShape& shape,
               const Matrix<const float>& x, const BlockTape& tape) const;

  /// Turns `dx`, the gradient of the output, into that of the input x.
  struct Backward {
    AttentionShape shape;
    Matrix<const float> x;
    BlockTape tape;
    BlockScratch scratch;
    Matrix<float> dx;
  };
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Backward& pass,
                const GradientSink& gradient) const;

 private:
  LayerNorm attention_norm_;
  Linear query_key_value_;
  Linear attention_projection_;
  LayerNorm mlp_norm_;
  Linear mlp_hidden_;
  Linear mlp_projection_;
};

/// Options of the blocks of all transformers, for text and for images.
struct TransformerOptions {
  std::int64_t width = 96;  ///< of a position's vector; a multiple of `heads`
  std::int64_t depth = 2;   ///< blocks
  std::int64_t heads = 4;   ///< attention heads per block

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// Pre-norm blocks, one after the other, with the activations that they keep for the backward pass.
/// Shape: input, output and their gradient [examples * positions][width].
/// Worked number: width 96 and depth 2 have 2 (12 96² + 13 96) = 223,680 parameters.
class TransformerEncoder {
 public:
  TransformerEncoder(TensorLayoutBuilder& layout, const TransformerOptions& options);

  void initialise(const Initialiser& initialiser) const;
  void carve(Arena& arena, std::int64_t examples, std::int64_t positions, bool causal);

  /// Embedded tokens or patches: fill it before forward().
  [[nodiscard]] const Matrix<float>& input() const { return embedded_; }
  [[nodiscard]] const Matrix<float>& output() const { return tapes_.back().output; }
  /// Gradient of the output: fill it before backward(), which turns it into the gradient of the input.
  [[nodiscard]] const Matrix<float>& dx() const { return dx_; }

  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters) const;
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                const GradientSink& gradient) const;

 private:
  [[nodiscard]] const Matrix<float>& input_of(std::size_t block) const {
    return block == 0 ? embedded_ : tapes_[block - 1].output;
  }

  TransformerOptions options_;
  std::vector<TransformerBlock> blocks_;

  AttentionShape shape_;
  Matrix<float> embedded_, dx_;
  std::vector<BlockTape> tapes_;
  BlockScratch scratch_;
};

/// The last layer norm of a transformer and the projection onto classes: logits = W LN(x) + b for each of n
/// rows of x, one per prediction. Shape: x [n][width], logits [n][classes].
class TransformerHead {
 public:
  TransformerHead(TensorLayoutBuilder& layout, std::int64_t width, std::int64_t classes);

  /// W normal with the given deviation.
  void initialise(const Initialiser& initialiser, double deviation) const;
  void carve(Arena& arena, std::int64_t rows);

  [[nodiscard]] const Matrix<float>& forward(const ExecutionSpace& exec,
                                             const Vector<const float>& parameters,
                                             const Matrix<const float>& x) const;

  /// Writes the gradients of W, b, LN's parameters and x.
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                const Matrix<const float>& x, const Matrix<const float>& dlogits, const Matrix<float>& dx,
                const GradientSink& gradient) const;

 private:
  LayerNorm norm_;
  Linear output_;
  Matrix<float> statistics_, normalised_, dnormalised_, logits_;
};

}  // namespace kadam::workloads
