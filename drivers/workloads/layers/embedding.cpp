// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/embedding.hpp>
#include <workloads/layers/row.hpp>

namespace kadam::workloads {
namespace {

void token_gradient(const ExecutionSpace& exec, const std::int32_t* tokens, const Matrix<const float>& dx,
                    const Matrix<float>& dtable) {
  const std::int64_t width = columns_of(dx);
  const std::int64_t rows = rows_of(dx);
  Kokkos::parallel_for(
      "kadam::workloads::token_gradient", row_policy(exec, rows_of(dtable)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t token = member.league_rank();
        float* const sum = dtable.data() + token * width;
        row_for(member, width, [&](std::int64_t i) { sum[i] = 0.0f; });
        for (std::int64_t row = 0; row < rows; ++row) {
          if (tokens[row] == token) {
            const float* const in = dx.data() + row * width;
            row_for(member, width, [&](std::int64_t i) { sum[i] += in[i]; });
          }
        }
      });
}

void position_gradient(const ExecutionSpace& exec, const Matrix<const float>& dx,
                       const Matrix<float>& dtable) {
  const std::int64_t width = columns_of(dx);
  const std::int64_t positions = rows_of(dtable);
  const std::int64_t examples = rows_of(dx) / positions;
  Kokkos::parallel_for(
      "kadam::workloads::position_gradient", row_policy(exec, positions),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t position = member.league_rank();
        const float* const in = dx.data() + position * width;
        float* const out = dtable.data() + position * width;
        row_combine(
            member, width, examples,
            [&](std::int64_t example, std::int64_t i) { return in[example * positions * width + i]; },
            [&](std::int64_t i, float sum) { out[i] = sum; });
      });
}

}  // namespace

Embedding::Embedding(TensorLayoutBuilder& layout, std::int64_t vocabulary, std::int64_t positions,
                     std::int64_t width)
    : vocabulary_(vocabulary),
      positions_(positions),
      width_(width),
      token_table_(layout.add("token_embedding.weight", vocabulary * width)),
      position_table_(layout.add("position_embedding.weight", positions * width)) {}

void Embedding::initialise(const Initialiser& initialiser, double deviation) const {
  initialiser.normal(token_table_, vocabulary_ * width_, deviation);
  initialiser.normal(position_table_, positions_ * width_, deviation);
}

void Embedding::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                        const Vector<const std::int32_t>& tokens, const Matrix<float>& x) const {
  const float* const token_table = parameters.data() + token_table_;
  const float* const position_table = parameters.data() + position_table_;
  const std::int64_t width = width_;
  const std::int64_t positions = positions_;
  Kokkos::parallel_for(
      "kadam::workloads::embedding_forward", row_policy(exec, rows_of(x)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t row = member.league_rank();
        const float* const token = token_table + tokens[static_cast<std::size_t>(row)] * width;
        const float* const position = position_table + row % positions * width;
        float* const out = x.data() + row * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = token[i] + position[i]; });
      });
}

void Embedding::backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& tokens,
                         const Matrix<const float>& dx, const Vector<float>& gradient) const {
  token_gradient(exec, tokens.data(), dx, matrix_at(gradient, token_table_, vocabulary_, width_));
  position_gradient(exec, dx, matrix_at(gradient, position_table_, positions_, width_));
}

}  // namespace kadam::workloads
