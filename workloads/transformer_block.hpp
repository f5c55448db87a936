// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/arena.hpp>
#include <workloads/initialiser.hpp>
#include <workloads/layers/attention.hpp>
#include <workloads/layers/layer_norm.hpp>
#include <workloads/layers/linear.hpp>

#include <cstdint>
#include <string>

namespace kadam::workloads {

/// What a block keeps of its forward pass. `output` is the next block's input.
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

  /// `blocks` of the stack: the two projections onto the residual stream are scaled by 1/√(2 blocks).
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

}  // namespace kadam::workloads
