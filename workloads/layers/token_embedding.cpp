// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/row.hpp>
#include <workloads/layers/token_embedding.hpp>

namespace kadam::workloads {
namespace {

void look_up(const ExecutionSpace& exec, const float* table, const std::int32_t* tokens,
             const Matrix<float>& x) {
  const std::int64_t width = columns_of(x);
  Kokkos::parallel_for(
      "kadam::workloads::token_embedding", row_policy(exec, rows_of(x)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t row = member.league_rank();
        const float* const in = table + tokens[row] * width;
        float* const out = x.data() + row * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = in[i]; });
      });
}

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

}  // namespace

TokenEmbedding::TokenEmbedding(TensorLayoutBuilder& layout, std::int64_t vocabulary, std::int64_t width)
    : vocabulary_(vocabulary),
      width_(width),
      table_(layout.add("token_embedding.weight", vocabulary * width)) {}

void TokenEmbedding::initialise(const Initialiser& initialiser, double deviation) const {
  initialiser.normal(table_, vocabulary_ * width_, deviation);
}

void TokenEmbedding::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                             const Vector<const std::int32_t>& tokens, const Matrix<float>& x) const {
  look_up(exec, parameters.data() + table_, tokens.data(), x);
}

void TokenEmbedding::backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& tokens,
                              const Matrix<const float>& dx, const GradientSink& gradient) const {
  token_gradient(exec, tokens.data(), dx, gradient.tensor(table_, vocabulary_, width_));
  gradient.finish({table_, table_ + vocabulary_ * width_});
}

}  // namespace kadam::workloads
