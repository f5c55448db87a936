// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/position_embedding.hpp>
#include <workloads/layers/row.hpp>

namespace kadam::workloads {
namespace {

void add_positions(const ExecutionSpace& exec, const float* table, std::int64_t positions,
                   const Matrix<float>& x) {
  const std::int64_t width = columns_of(x);
  Kokkos::parallel_for(
      "kadam::workloads::add_positions", row_policy(exec, rows_of(x)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t row = member.league_rank();
        const float* const position = table + row % positions * width;
        float* const out = x.data() + row * width;
        row_for(member, width, [&](std::int64_t i) { out[i] += position[i]; });
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

PositionEmbedding::PositionEmbedding(TensorLayoutBuilder& layout, std::int64_t positions, std::int64_t width)
    : positions_(positions),
      width_(width),
      table_(layout.add("position_embedding.weight", positions * width)) {}

void PositionEmbedding::initialise(const Initialiser& initialiser, double deviation) const {
  initialiser.normal(table_, positions_ * width_, deviation);
}

void PositionEmbedding::add_to(const ExecutionSpace& exec, const Vector<const float>& parameters,
                               const Matrix<float>& x) const {
  add_positions(exec, parameters.data() + table_, positions_, x);
}

void PositionEmbedding::backward(const ExecutionSpace& exec, const Matrix<const float>& dx,
                                 const GradientSink& gradient) const {
  position_gradient(exec, dx, gradient.tensor(table_, positions_, width_));
  gradient.finish({table_, table_ + positions_ * width_});
}

}  // namespace kadam::workloads
