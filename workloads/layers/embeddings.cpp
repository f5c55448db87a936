// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/embeddings.hpp>
#include <workloads/layers/row.hpp>

#include <cmath>

namespace kadam::workloads {
namespace {

void look_up(const ExecutionSpace& exec, const float* table, const std::int32_t* tokens,
             const Matrix<float>& x) {
  const std::int64_t width = columns_of(x);
  for_each_row(
      "kadam::workloads::token_embedding", exec, rows_of(x),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t row) {
        const float* const in = table + tokens[row] * width;
        float* const out = x.data() + row * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = in[i]; });
      });
}

/// One thread per token goes through all rows: few threads, each with its row of the table in cache.
void gather_gradient(const ExecutionSpace& exec, const std::int32_t* tokens, const Matrix<const float>& dx,
                     const Matrix<float>& dtable) {
  const std::int64_t width = columns_of(dx);
  const std::int64_t rows = rows_of(dx);
  for_each_row(
      "kadam::workloads::token_gradient", exec, rows_of(dtable),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t token) {
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

/// Number of sorted rows in a run, which are summed together if all have the same token. Some tokens are far
/// more frequent than others: one row kernel for each would work on while the rest of a GPU waits.
constexpr std::int64_t run_rows = 64;

std::int64_t whole_runs(std::int64_t rows) {
  return rows / run_rows;
}

void sum_runs(const ExecutionSpace& exec, const std::int32_t* tokens, const RowsByToken& order,
              const Matrix<const float>& dx, const Matrix<float>& runs) {
  const std::int64_t width = columns_of(dx);
  for_each_row(
      "kadam::workloads::token_runs", exec, rows_of(runs),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t run) {
        const std::int32_t* const rows = order.rows() + run * run_rows;
        if (tokens[rows[0]] != tokens[rows[run_rows - 1]]) {
          return;
        }
        row_combine(
            member, width, run_rows,
            [&](std::int64_t k, std::int64_t i) { return dx.data()[rows[k] * width + i]; },
            [&](std::int64_t i, float sum) { runs.data()[run * width + i] = sum; });
      });
}

/// The rows of each token: those before its first whole run, its runs, those after its last.
void sum_tokens(const ExecutionSpace& exec, const RowsByToken& order, const Matrix<const float>& dx,
                const Matrix<const float>& runs, const Matrix<float>& dtable) {
  const std::int64_t width = columns_of(dx);
  for_each_row(
      "kadam::workloads::token_gradient", exec, rows_of(dtable),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t token) {
        const std::int64_t begin = order.begin_of(token);
        const std::int64_t end = order.begin_of(token + 1);
        const std::int64_t first = (begin + run_rows - 1) / run_rows;
        const std::int64_t last = end / run_rows;
        const std::int64_t whole = first < last ? last - first : 0;
        const std::int64_t before = whole > 0 ? first * run_rows - begin : end - begin;
        const std::int64_t terms = whole > 0 ? before + whole + end - last * run_rows : before;
        row_combine(
            member, width, terms,
            [&](std::int64_t t, std::int64_t i) {
              if (t >= before && t < before + whole) {
                return runs.data()[(first + t - before) * width + i];
              }
              const std::int64_t place = begin + t + (t < before ? 0 : whole * (run_rows - 1));
              return dx.data()[order.rows()[place] * width + i];
            },
            [&](std::int64_t i, float sum) { dtable.data()[token * width + i] = sum; });
      });
}

void add_positions(const ExecutionSpace& exec, const float* table, std::int64_t positions,
                   const Matrix<float>& x) {
  const std::int64_t width = columns_of(x);
  for_each_row(
      "kadam::workloads::add_positions", exec, rows_of(x),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t row) {
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
  for_each_row(
      "kadam::workloads::position_gradient", exec, positions,
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t position) {
        const float* const in = dx.data() + position * width;
        float* const out = dtable.data() + position * width;
        row_combine(
            member, width, examples,
            [&](std::int64_t example, std::int64_t i) { return in[example * positions * width + i]; },
            [&](std::int64_t i, float sum) { out[i] = sum; });
      });
}

/// One row kernel per patch; each line of a patch is contiguous in memory.
void cut_into_patches(const ExecutionSpace& exec, const PatchGrid& grid, const float* images,
                      const Matrix<float>& patches) {
  for_each_row(
      "kadam::workloads::cut_into_patches", exec, rows_of(patches),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t rank) {
        const std::int64_t image = rank / grid.patches();
        const std::int64_t place = rank % grid.patches();
        const std::int64_t top = place / grid.across() * grid.patch;
        const std::int64_t left = place % grid.across() * grid.patch;
        const float* const corner = images + (image * grid.channels * grid.height + top) * grid.width + left;
        float* const out = patches.data() + rank * grid.patch_pixels();
        row_for(member, grid.channels * grid.patch, [&](std::int64_t line) {
          const std::int64_t below = line / grid.patch * grid.height + line % grid.patch;
          for (std::int64_t i = 0; i < grid.patch; ++i) {
            out[line * grid.patch + i] = corner[below * grid.width + i];
          }
        });
      });
}

}  // namespace

TokenGradientScratch::TokenGradientScratch(Arena& arena, std::int64_t rows, std::int64_t vocabulary,
                                           std::int64_t width) {
  if constexpr (!one_thread_per_row) {
    order = RowsByToken(arena, rows, vocabulary);
    runs = arena.matrix(whole_runs(rows), width);
  }
}

TokenEmbedding::TokenEmbedding(TensorLayoutBuilder& layout, std::int64_t vocabulary, std::int64_t width)
    : vocabulary_(vocabulary),
      width_(width),
      table_(layout.add("token_embedding.weight", {vocabulary, width}, false)) {}

void TokenEmbedding::initialise(const Initialiser& initialiser, double deviation) const {
  initialiser.normal(table_, vocabulary_ * width_, deviation);
}

void TokenEmbedding::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                             const Vector<const std::int32_t>& tokens, const Matrix<float>& x) const {
  look_up(exec, parameters.data() + table_, tokens.data(), x);
}

void TokenEmbedding::backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& tokens,
                              const Matrix<const float>& dx, const TokenGradientScratch& scratch,
                              const GradientSink& gradient) const {
  const Matrix<float> dtable = gradient.tensor(table_, vocabulary_, width_);
  if constexpr (one_thread_per_row) {
    gather_gradient(exec, tokens.data(), dx, dtable);
  } else {
    scratch.order.sort(exec, tokens.data());
    sum_runs(exec, tokens.data(), scratch.order, dx, scratch.runs);
    sum_tokens(exec, scratch.order, dx, scratch.runs, dtable);
  }
  gradient.finish({table_, table_ + vocabulary_ * width_});
}

PositionEmbedding::PositionEmbedding(TensorLayoutBuilder& layout, std::int64_t positions, std::int64_t width)
    : positions_(positions),
      width_(width),
      table_(layout.add("position_embedding.weight", {positions, width}, false)) {}

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

void PatchEmbedding::initialise(const Initialiser& initialiser) const {
  projection_.initialise(initialiser, 1.0 / std::sqrt(static_cast<double>(grid_.patch_pixels())));
}

void PatchEmbedding::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                             const Vector<const float>& images, const Matrix<float>& patches,
                             const Matrix<float>& y) const {
  cut_into_patches(exec, grid_, images.data(), patches);
  projection_.forward(exec, parameters, patches, y);
}

}  // namespace kadam::workloads
