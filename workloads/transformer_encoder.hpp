// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/arena.hpp>
#include <workloads/initialiser.hpp>
#include <workloads/transformer_block.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam::workloads {

/// The blocks of every transformer: those of text and those of images.
struct TransformerOptions {
  std::int64_t width = 96;  ///< of a position's vector; a multiple of `heads`
  std::int64_t depth = 2;   ///< blocks
  std::int64_t heads = 4;   ///< of attention, per block

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// Pre-norm blocks, one after the other, with what they keep between the passes.
/// Shape: input, output and their gradient [examples * positions][width].
/// Worked number: width 96 and depth 2 have 2 (12 96² + 13 96) = 223,680 parameters.
class TransformerEncoder {
 public:
  TransformerEncoder(TensorLayoutBuilder& layout, const TransformerOptions& options);

  void initialise(const Initialiser& initialiser) const;
  void carve(Arena& arena, std::int64_t examples, std::int64_t positions, bool causal);

  /// To be filled before `forward`: the embedded tokens or patches.
  [[nodiscard]] const Matrix<float>& input() const { return embedded_; }
  [[nodiscard]] const Matrix<float>& output() const { return tapes_.back().output; }
  /// To be filled before `backward` with the gradient of the output; afterwards that of the input.
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

}  // namespace kadam::workloads
