// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/row.hpp>
#include <workloads/matrix.hpp>
#include <workloads/transformer.hpp>

#include <cstdint>

namespace kadam::workloads {
namespace {

/// y(n, :) = x(rows_n, :). Shape: x [any][width], rows [n] without repetition, y [n][width].
void select_rows(const ExecutionSpace& exec, const Vector<const std::int32_t>& rows,
                 const Matrix<const float>& x, const Matrix<float>& y) {
  const std::int64_t width = columns_of(x);
  for_each_row(
      "kadam::workloads::select_rows", exec, rows_of(y),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t n) {
        const float* const in = x.data() + rows[static_cast<std::size_t>(n)] * width;
        float* const out = y.data() + n * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = in[i]; });
      });
}

/// dx(rows_n, :) = dy(n, :), and 0 in all other rows.
void select_rows_backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& rows,
                          const Matrix<const float>& dy, const Matrix<float>& dx) {
  const std::int64_t width = columns_of(dx);
  Kokkos::deep_copy(exec, dx, 0.0f);
  for_each_row(
      "kadam::workloads::select_rows_backward", exec, rows_of(dy),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t n) {
        const float* const in = dy.data() + n * width;
        float* const out = dx.data() + rows[static_cast<std::size_t>(n)] * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = in[i]; });
      });
}

constexpr double embedding_deviation = 0.02;

}  // namespace

Transformer::Transformer(const TransformerOptions& options, const DataShape& shape,
                         TensorLayoutBuilder builder)
    : options_(options),
      data_(shape),
      tokens_(builder, shape.vocabulary(), options.width),
      positions_(builder, shape.context, options.width),
      encoder_(builder, options),
      head_(builder, options.width, shape.classes) {
  set_tensors(builder);
}

void Transformer::initialise(const HostVector<float>& parameters, std::uint64_t seed) const {
  require_elements("the parameter vector", parameters.extent(0), tensors().elements(),
                   "allocate tensors().elements()");
  const Initialiser initialiser(parameters, seed);
  tokens_.initialise(initialiser, embedding_deviation);
  positions_.initialise(initialiser, embedding_deviation);
  encoder_.initialise(initialiser);
  head_.initialise(initialiser, embedding_deviation);
}

void Transformer::check(const Batch& batch) const {
  require_elements("batch.tokens", batch.tokens.extent(0), batch.examples * data_.context,
                   "give examples x context tokens");
  require_elements("batch.targets", batch.targets.extent(0), batch.examples * data_.predictions(),
                   "give one target per position, or per masked position");
  require_elements("batch.positions", batch.positions.extent(0), batch.examples * data_.masked,
                   "give the rows of the masked tokens, none if there is no mask");
}

void Transformer::carve(Arena& arena, std::int64_t examples) {
  encoder_.carve(arena, examples, data_.context, !is_masked());
  head_.carve(arena, examples * data_.predictions());
  token_scratch_ = TokenGradientScratch(arena, examples * data_.context, data_.vocabulary(), options_.width);
  chosen_ = arena.matrix(examples * data_.masked, options_.width);
  dchosen_ = arena.matrix(examples * data_.masked, options_.width);
}

Matrix<float> Transformer::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                   const Batch& batch) {
  tokens_.forward(exec, parameters, batch.tokens, encoder_.input());
  positions_.add_to(exec, parameters, encoder_.input());
  encoder_.forward(exec, parameters);
  if (!is_masked()) {
    return head_.forward(exec, parameters, encoder_.output());
  }
  select_rows(exec, batch.positions, encoder_.output(), chosen_);
  return head_.forward(exec, parameters, chosen_);
}

void Transformer::backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                           const Batch& batch, const Matrix<float>& dlogits, const GradientSink& gradient) {
  if (is_masked()) {
    head_.backward(exec, parameters, chosen_, dlogits, dchosen_, gradient);
    select_rows_backward(exec, batch.positions, dchosen_, encoder_.dx());
  } else {
    head_.backward(exec, parameters, encoder_.output(), dlogits, encoder_.dx(), gradient);
  }
  encoder_.backward(exec, parameters, gradient);
  positions_.backward(exec, encoder_.dx(), gradient);
  tokens_.backward(exec, batch.tokens, encoder_.dx(), token_scratch_, gradient);
}

}  // namespace kadam::workloads
