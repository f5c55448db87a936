// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_MathematicalFunctions.hpp>

#include <cmath>
#include <workloads/layers/attention.hpp>
#include <workloads/layers/exponential.hpp>
#include <workloads/layers/row.hpp>

// One row kernel per query (or key) of each example and head. Products that run along the positions read keys
// and values transposed, so that neighbouring lanes always read neighbouring elements.
namespace kadam::workloads {
namespace {

/// Where the row numbered `rank` = (example * heads + head) * positions + position lies.
struct RowPlace {
  std::int64_t position;
  std::int64_t first_row;   ///< of its example, in qkv
  std::int64_t column;      ///< of its head, in an output row
  std::int64_t transposed;  ///< first element of its head in the transposed keys and values
  std::int64_t scores;      ///< first element of its head in the probabilities

  KOKKOS_INLINE_FUNCTION RowPlace(const AttentionShape& shape, std::int64_t rank) {
    position = rank % shape.positions;
    const std::int64_t head = rank / shape.positions;
    first_row = head / shape.heads * shape.positions;
    column = head % shape.heads * shape.head_width;
    transposed = head * shape.head_width * shape.positions;
    scores = head * shape.positions * shape.positions;
  }
};

void transpose_heads(const ExecutionSpace& exec, const AttentionShape& shape, const Matrix<const float>& qkv,
                     const AttentionTape& tape) {
  const std::int64_t positions = shape.positions;
  const std::int64_t stride = 3 * shape.width();
  Kokkos::parallel_for(
      "kadam::workloads::attention_transpose", row_policy(exec, shape.examples * shape.width()),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t rank = member.league_rank();
        const std::int64_t example = rank / shape.width();
        const float* const in =
            qkv.data() + example * positions * stride + shape.width() + rank % shape.width();
        float* const keys = tape.keys.data() + rank * positions;
        float* const values = tape.values.data() + rank * positions;
        row_for(member, positions, [&](std::int64_t j) {
          keys[j] = in[j * stride];
          values[j] = in[j * stride + shape.width()];
        });
      });
}

/// How many keys a query's row kernels work on: the visible ones, rounded up so that no lane of a CPU's
/// vector idles. Those in excess are given a score of -1e30, that is a probability of about 1e-38, and are
/// never read.
KOKKOS_INLINE_FUNCTION std::int64_t padded_keys(const AttentionShape& shape, std::int64_t visible) {
  constexpr std::int64_t lanes = 16;
  const std::int64_t padded = (visible + lanes - 1) / lanes * lanes;
  return padded < shape.positions ? padded : shape.positions;
}

/// p[j] = softmax(p)[j] for j < n.
KOKKOS_INLINE_FUNCTION void softmax_in_place(const RowMember& member, std::int64_t n, float* p) {
  const float maximum = row_max(member, n, [&](std::int64_t j) { return p[j]; });
  row_for(member, n, [&](std::int64_t j) { p[j] = exponential(p[j] - maximum); });
  const float factor = 1.0f / row_sum(member, n, [&](std::int64_t j) { return p[j]; });
  row_for(member, n, [&](std::int64_t j) { p[j] *= factor; });
}

/// dscores and the gradient of the queries.
void query_gradient(const ExecutionSpace& exec, const AttentionBackward& pass, float scale) {
  const AttentionShape shape = pass.shape;
  const std::int64_t width = shape.width();
  const std::int64_t positions = shape.positions;
  Kokkos::parallel_for(
      "kadam::workloads::attention_query_gradient", row_policy(exec, shape.query_rows()),
      KOKKOS_LAMBDA(const RowMember& member) {
        const RowPlace place(shape, member.league_rank());
        const std::int64_t row = place.first_row + place.position;
        const std::int64_t visible = shape.causal ? place.position + 1 : positions;
        const std::int64_t padded = padded_keys(shape, visible);
        const float* const dout = pass.doutput.data() + row * width + place.column;
        const float* const values = pass.tape.values.data() + place.transposed;
        const float* const p = pass.tape.probabilities.data() + place.scores + place.position * positions;
        float* const ds = pass.dscores.data() + place.scores + place.position * positions;
        row_combine(
            member, padded, shape.head_width,
            [&](std::int64_t d, std::int64_t j) { return dout[d] * values[d * positions + j]; },
            [&](std::int64_t j, float sum) { ds[j] = sum; });
        const float mean = row_sum(member, padded, [&](std::int64_t j) { return p[j] * ds[j]; });
        row_for(member, padded, [&](std::int64_t j) { ds[j] = scale * p[j] * (ds[j] - mean); });
        const float* const keys = pass.qkv.data() + place.first_row * 3 * width + width + place.column;
        float* const dq = pass.dqkv.data() + row * 3 * width + place.column;
        row_combine(
            member, shape.head_width, visible,
            [&](std::int64_t j, std::int64_t d) { return ds[j] * keys[j * 3 * width + d]; },
            [&](std::int64_t d, float sum) { dq[d] = sum; });
      });
}

/// The gradients of keys and values: sums over the queries that see them.
void key_value_gradient(const ExecutionSpace& exec, const AttentionBackward& pass) {
  const AttentionShape shape = pass.shape;
  const std::int64_t width = shape.width();
  const std::int64_t positions = shape.positions;
  Kokkos::parallel_for(
      "kadam::workloads::attention_key_value_gradient", row_policy(exec, shape.query_rows()),
      KOKKOS_LAMBDA(const RowMember& member) {
        const RowPlace place(shape, member.league_rank());
        const std::int64_t j = place.position;
        const std::int64_t first = shape.causal ? j : 0;
        const std::int64_t row = place.first_row + first;
        const float* const dout = pass.doutput.data() + row * width + place.column;
        const float* const queries = pass.qkv.data() + row * 3 * width + place.column;
        const float* const p = pass.tape.probabilities.data() + place.scores + first * positions + j;
        const float* const ds = pass.dscores.data() + place.scores + first * positions + j;
        float* const dk = pass.dqkv.data() + (place.first_row + j) * 3 * width + width + place.column;
        float* const dv = dk + width;
        row_combine(
            member, shape.head_width, positions - first,
            [&](std::int64_t i, std::int64_t d) { return ds[i * positions] * queries[i * 3 * width + d]; },
            [&](std::int64_t d, float sum) { dk[d] = sum; });
        row_combine(
            member, shape.head_width, positions - first,
            [&](std::int64_t i, std::int64_t d) { return p[i * positions] * dout[i * width + d]; },
            [&](std::int64_t d, float sum) { dv[d] = sum; });
      });
}

}  // namespace

AttentionTape::AttentionTape(Arena& arena, const AttentionShape& shape)
    : keys(arena.matrix(shape.examples * shape.width(), shape.positions)),
      values(arena.matrix(shape.examples * shape.width(), shape.positions)),
      probabilities(arena.matrix(shape.query_rows(), shape.positions)) {}

void attention_forward(const ExecutionSpace& exec, const AttentionShape& shape,
                       const Matrix<const float>& qkv, const AttentionTape& tape,
                       const Matrix<float>& output) {
  transpose_heads(exec, shape, qkv, tape);
  const std::int64_t width = shape.width();
  const std::int64_t positions = shape.positions;
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_width)));
  Kokkos::parallel_for(
      "kadam::workloads::attention_forward", row_policy(exec, shape.query_rows()),
      KOKKOS_LAMBDA(const RowMember& member) {
        const RowPlace place(shape, member.league_rank());
        const std::int64_t row = place.first_row + place.position;
        const std::int64_t visible = shape.causal ? place.position + 1 : positions;
        const std::int64_t padded = padded_keys(shape, visible);
        const float* const query = qkv.data() + row * 3 * width + place.column;
        const float* const keys = tape.keys.data() + place.transposed;
        float* const p = tape.probabilities.data() + place.scores + place.position * positions;
        row_combine(
            member, padded, shape.head_width,
            [&](std::int64_t d, std::int64_t j) { return query[d] * keys[d * positions + j]; },
            [&](std::int64_t j, float sum) { p[j] = j < visible ? scale * sum : -1e30f; });
        softmax_in_place(member, padded, p);
        const float* const values = qkv.data() + place.first_row * 3 * width + 2 * width + place.column;
        float* const out = output.data() + row * width + place.column;
        row_combine(
            member, shape.head_width, visible,
            [&](std::int64_t j, std::int64_t d) { return p[j] * values[j * 3 * width + d]; },
            [&](std::int64_t d, float sum) { out[d] = sum; });
      });
}

void attention_backward(const ExecutionSpace& exec, const AttentionBackward& pass) {
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(pass.shape.head_width)));
  query_gradient(exec, pass, scale);
  key_value_gradient(exec, pass);
}

}  // namespace kadam::workloads
