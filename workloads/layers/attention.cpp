// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/attention.hpp>
#include <workloads/layers/exponential.hpp>
#include <workloads/layers/row.hpp>
#include <workloads/layers/tile_product.hpp>

#include <Kokkos_MathematicalFunctions.hpp>

#include <cmath>

// One row kernel per tile of queries (or keys) of each example and head. Products that run along the
// positions read keys and values transposed, so that neighbouring lanes always read neighbouring elements;
// rows along the positions are padded so that no lane of a CPU's vector idles.
namespace kadam::workloads {
namespace {

/// Place of the tile with number `rank` = (example * heads + head) * tiles + tile.
struct TilePlace {
  std::int64_t first;       ///< position
  std::int64_t rows;        ///< positions in the tile
  std::int64_t first_row;   ///< of its example, in qkv
  std::int64_t row;         ///< of `first`, in qkv
  std::int64_t column;      ///< of its head, in an output row
  std::int64_t transposed;  ///< first element of its head in the transposed keys and values
  std::int64_t scores;      ///< first element of its head in the probabilities

  KOKKOS_INLINE_FUNCTION TilePlace(const AttentionShape& shape, std::int64_t rank) {
    const std::int64_t head = rank / tiles(shape);
    first = rank % tiles(shape) * tile_rows();
    rows = shape.positions - first < tile_rows() ? shape.positions - first : tile_rows();
    first_row = head / shape.heads * shape.positions;
    row = first_row + first;
    column = head % shape.heads * shape.head_width;
    transposed = head * shape.head_width * shape.padded_positions();
    scores = head * shape.positions * shape.padded_positions();
  }

  KOKKOS_INLINE_FUNCTION static std::int64_t tiles(const AttentionShape& shape) {
    return (shape.positions + tile_rows() - 1) / tile_rows();
  }
};

std::int64_t tile_count(const AttentionShape& shape) {
  return shape.examples * shape.heads * TilePlace::tiles(shape);
}

/// out[c * padded + j] = in[j * stride + c] for c < columns and j < positions, 0 for positions <= j < padded.
KOKKOS_INLINE_FUNCTION void transpose_columns(const RowMember& member, std::int64_t positions,
                                              std::int64_t columns, const float* in, std::int64_t stride,
                                              float* out) {
  constexpr std::int64_t lanes = 16;
  const std::int64_t padded = AttentionShape::padded(positions);
  // Squares of a known size, so that it vectorises; they stay in the innermost cache.
  std::int64_t first = 0;
  if constexpr (one_thread_per_row) {
    for (; first + lanes <= positions; first += lanes) {
      for (std::int64_t c = 0; c < columns; ++c) {
        float gathered[lanes];
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          gathered[lane] = in[(first + lane) * stride + c];
        }
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          out[c * padded + first + lane] = gathered[lane];
        }
      }
    }
  }
  row_for(member, padded - first, [&](std::int64_t j) {
    for (std::int64_t c = 0; c < columns; ++c) {
      out[c * padded + first + j] = first + j < positions ? in[(first + j) * stride + c] : 0.0f;
    }
  });
}

/// One row kernel per 16 columns of an example: it reads one cache line of each position.
void transpose_heads(const ExecutionSpace& exec, const AttentionShape& shape, const Matrix<const float>& qkv,
                     const AttentionTape& tape) {
  constexpr std::int64_t block = 16;
  const std::int64_t width = shape.width();
  const std::int64_t blocks = (width + block - 1) / block;
  for_each_row(
      "kadam::workloads::attention_transpose", exec, shape.examples * blocks,
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t rank) {
        const std::int64_t example = rank / blocks;
        const std::int64_t first = rank % blocks * block;
        const std::int64_t columns = width - first < block ? width - first : block;
        const std::int64_t begin = (example * width + first) * shape.padded_positions();
        const float* const in = qkv.data() + example * shape.positions * 3 * width + width + first;
        transpose_columns(member, shape.positions, columns, in, 3 * width, tape.keys.data() + begin);
        transpose_columns(member, shape.positions, columns, in + width, 3 * width,
                          tape.values.data() + begin);
      });
}

/// Number of keys that a tile of queries works on: those that its last query sees, padded. Keys that a query
/// does not see get the probability 0.
KOKKOS_INLINE_FUNCTION std::int64_t keys_of(const AttentionShape& shape, const TilePlace& place) {
  const std::int64_t visible = shape.causal ? place.first + place.rows : shape.positions;
  return AttentionShape::padded(visible);
}

/// p[j] = softmax(p)[j] for j < visible, 0 for visible <= j < n.
KOKKOS_INLINE_FUNCTION void softmax_in_place(const RowMember& member, std::int64_t visible, std::int64_t n,
                                             float* p) {
  const float maximum = row_max(member, visible, [&](std::int64_t j) { return p[j]; });
  row_for(member, n, [&](std::int64_t j) {
    const float e = exponential(p[j] - maximum);
    p[j] = j < visible ? e : 0.0f;
  });
  const float factor = 1.0f / row_sum(member, n, [&](std::int64_t j) { return p[j]; });
  row_for(member, n, [&](std::int64_t j) { p[j] *= factor; });
}

/// dscores and the gradient of the queries.
void query_gradient(const ExecutionSpace& exec, const AttentionBackward& pass, float scale) {
  const AttentionShape shape = pass.shape;
  const std::int64_t width = shape.width();
  const std::int64_t padded = shape.padded_positions();
  for_each_row(
      "kadam::workloads::attention_query_gradient", exec, tile_count(shape),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t rank) {
        const TilePlace place(shape, rank);
        const std::int64_t keys = keys_of(shape, place);
        const float* const p = pass.tape.probabilities.data() + place.scores + place.first * padded;
        float* const ds = pass.dscores.data() + place.scores + place.first * padded;
        tile_product(member, {place.rows, keys, shape.head_width},
                     {pass.doutput.data() + place.row * width + place.column, 1, width},
                     {pass.tape.values.data() + place.transposed, padded, 1},
                     [&](std::int64_t r, std::int64_t j, float sum) { ds[r * padded + j] = sum; });
        for (std::int64_t r = 0; r < place.rows; ++r) {
          const float* const row_p = p + r * padded;
          float* const row_ds = ds + r * padded;
          const float mean = row_sum(member, keys, [&](std::int64_t j) { return row_p[j] * row_ds[j]; });
          row_for(member, keys, [&](std::int64_t j) { row_ds[j] = scale * row_p[j] * (row_ds[j] - mean); });
        }
        row_barrier();
        float* const dq = pass.dqkv.data() + place.row * 3 * width + place.column;
        tile_product(member, {place.rows, shape.head_width, keys < shape.positions ? keys : shape.positions},
                     {ds, 1, padded},
                     {pass.qkv.data() + place.first_row * 3 * width + width + place.column, 3 * width, 1},
                     [&](std::int64_t r, std::int64_t d, float sum) { dq[r * 3 * width + d] = sum; });
      });
}

/// The gradients of keys and values: sums over the queries that see them.
void key_value_gradient(const ExecutionSpace& exec, const AttentionBackward& pass) {
  const AttentionShape shape = pass.shape;
  const std::int64_t width = shape.width();
  const std::int64_t padded = shape.padded_positions();
  for_each_row(
      "kadam::workloads::attention_key_value_gradient", exec, tile_count(shape),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t rank) {
        const TilePlace place(shape, rank);
        const std::int64_t first = shape.causal ? place.first : 0;
        const std::int64_t row = place.first_row + first;
        const std::int64_t begin = place.scores + first * padded + place.first;
        const TileShape tile{place.rows, shape.head_width, shape.positions - first};
        float* const dk = pass.dqkv.data() + place.row * 3 * width + width + place.column;
        float* const dv = dk + width;
        tile_product(member, tile, {pass.dscores.data() + begin, padded, 1},
                     {pass.qkv.data() + row * 3 * width + place.column, 3 * width, 1},
                     [&](std::int64_t r, std::int64_t d, float sum) { dk[r * 3 * width + d] = sum; });
        tile_product(member, tile, {pass.tape.probabilities.data() + begin, padded, 1},
                     {pass.doutput.data() + row * width + place.column, width, 1},
                     [&](std::int64_t r, std::int64_t d, float sum) { dv[r * 3 * width + d] = sum; });
      });
}

}  // namespace

AttentionTape::AttentionTape(Arena& arena, const AttentionShape& shape)
    : keys(arena.matrix(shape.examples * shape.width(), shape.padded_positions())),
      values(arena.matrix(shape.examples * shape.width(), shape.padded_positions())),
      probabilities(arena.matrix(shape.query_rows(), shape.padded_positions())) {}

void attention_forward(const ExecutionSpace& exec, const AttentionShape& shape,
                       const Matrix<const float>& qkv, const AttentionTape& tape,
                       const Matrix<float>& output) {
  transpose_heads(exec, shape, qkv, tape);
  const std::int64_t width = shape.width();
  const std::int64_t padded = shape.padded_positions();
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_width)));
  for_each_row(
      "kadam::workloads::attention_forward", exec, tile_count(shape),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t rank) {
        const TilePlace place(shape, rank);
        const std::int64_t keys = keys_of(shape, place);
        float* const p = tape.probabilities.data() + place.scores + place.first * padded;
        tile_product(member, {place.rows, keys, shape.head_width},
                     {qkv.data() + place.row * 3 * width + place.column, 1, 3 * width},
                     {tape.keys.data() + place.transposed, padded, 1},
                     [&](std::int64_t r, std::int64_t j, float sum) { p[r * padded + j] = scale * sum; });
        for (std::int64_t r = 0; r < place.rows; ++r) {
          const std::int64_t visible = shape.causal ? place.first + r + 1 : shape.positions;
          softmax_in_place(member, visible, keys, p + r * padded);
        }
        row_barrier();
        float* const out = output.data() + place.row * width + place.column;
        tile_product(member, {place.rows, shape.head_width, keys < shape.positions ? keys : shape.positions},
                     {p, 1, padded},
                     {qkv.data() + place.first_row * 3 * width + 2 * width + place.column, 3 * width, 1},
                     [&](std::int64_t r, std::int64_t d, float sum) { out[r * width + d] = sum; });
      });
}

void attention_backward(const ExecutionSpace& exec, const AttentionBackward& pass) {
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(pass.shape.head_width)));
  query_gradient(exec, pass, scale);
  key_value_gradient(exec, pass);
}

}  // namespace kadam::workloads
