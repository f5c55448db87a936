// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>

#include <cstdint>

namespace kadam::workloads {

/// Multi-head attention within each example; `head_width` columns belong to each head.
struct AttentionShape {
  std::int64_t examples = 0;
  std::int64_t positions = 0;
  std::int64_t heads = 0;
  std::int64_t head_width = 0;
  bool causal = false;  ///< a position sees itself and those before it, not those after it

  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t width() const { return heads * head_width; }
  [[nodiscard]] std::int64_t query_rows() const { return examples * heads * positions; }
  /// n rounded up to a multiple of 16, the lanes of a wide vector.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static std::int64_t padded(std::int64_t n) {
    return (n + 15) / 16 * 16;
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t padded_positions() const { return padded(positions); }
};

/// Intermediate results that the forward pass keeps for the backward pass.
struct AttentionTape {
  Matrix<float> keys;           ///< [examples * heads * head_width][padded_positions]: transposed
  Matrix<float> values;         ///< the values, likewise
  Matrix<float> probabilities;  ///< [examples * heads * positions][padded_positions]

  AttentionTape() = default;
  AttentionTape(Arena& arena, const AttentionShape& shape);
};

/// output_i = Σ_j p_ij v_j with p_i = softmax_j(q_i · k_j / √head_width), for each example and head.
/// Shape: qkv [examples * positions][3 * width], queries, keys and values side by side, head after head in
/// each; output [examples * positions][width].
void attention_forward(const ExecutionSpace& exec, const AttentionShape& shape,
                       const Matrix<const float>& qkv, const AttentionTape& tape,
                       const Matrix<float>& output);

/// Arguments of attention_backward(), which writes dqkv, the gradient of qkv, from doutput, that of the
/// output: dv_j = Σ_i p_ij do_i, ds_ij = p_ij (do_i · v_j - Σ_k p_ik do_i · v_k), dq_i = Σ_j ds_ij k_j /
/// √head_width, dk_j = Σ_i ds_ij q_i / √head_width. `dscores` is scratch of the shape of
/// `tape.probabilities`.
struct AttentionBackward {
  AttentionShape shape;
  AttentionTape tape;
  Matrix<const float> qkv;
  Matrix<const float> doutput;
  Matrix<float> dscores;
  Matrix<float> dqkv;
};
void attention_backward(const ExecutionSpace& exec, const AttentionBackward& pass);

}  // namespace kadam::workloads
