// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/activation.hpp>
#include <workloads/transformer_block.hpp>

#include <cmath>

namespace kadam::workloads {

BlockTape::BlockTape(Arena& arena, const AttentionShape& shape, std::int64_t hidden_width)
    : attention(arena, shape) {
  const std::int64_t rows = shape.examples * shape.positions;
  const std::int64_t width = shape.width();
  attention_statistics = arena.matrix(rows, 2);
  attention_input = arena.matrix(rows, width);
  qkv = arena.matrix(rows, 3 * width);
  attention_output = arena.matrix(rows, width);
  middle = arena.matrix(rows, width);
  mlp_statistics = arena.matrix(rows, 2);
  mlp_input = arena.matrix(rows, width);
  hidden = arena.matrix(rows, hidden_width);
  activated = arena.matrix(rows, hidden_width);
  output = arena.matrix(rows, width);
}

BlockScratch::BlockScratch(Arena& arena, const AttentionShape& shape, std::int64_t hidden_width) {
  const std::int64_t rows = shape.examples * shape.positions;
  row = arena.matrix(rows, shape.width());
  qkv = arena.matrix(rows, 3 * shape.width());
  hidden = arena.matrix(rows, hidden_width);
  scores = arena.matrix(shape.query_rows(), shape.padded_positions());
}

TransformerBlock::TransformerBlock(TensorLayoutBuilder& layout, const std::string& name, std::int64_t width)
    : attention_norm_(layout, name + ".attention_norm", width),
      query_key_value_(layout, name + ".attention.qkv", width, 3 * width),
      attention_projection_(layout, name + ".attention.projection", width, width),
      mlp_norm_(layout, name + ".mlp_norm", width),
      mlp_hidden_(layout, name + ".mlp.hidden", width, expansion * width),
      mlp_projection_(layout, name + ".mlp.projection", expansion * width, width) {}

void TransformerBlock::initialise(const Initialiser& initialiser, std::int64_t blocks) const {
  const double deviation = 1.0 / std::sqrt(static_cast<double>(query_key_value_.inputs()));
  const double depth_factor = 1.0 / std::sqrt(2.0 * static_cast<double>(blocks));
  attention_norm_.initialise(initialiser);
  query_key_value_.initialise(initialiser, deviation);
  attention_projection_.initialise(initialiser, deviation * depth_factor);
  mlp_norm_.initialise(initialiser);
  mlp_hidden_.initialise(initialiser, deviation);
  mlp_projection_.initialise(initialiser, deviation * depth_factor / std::sqrt(double{expansion}));
}

void TransformerBlock::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                               const AttentionShape& shape, const Matrix<const float>& x,
                               const BlockTape& tape) const {
  attention_norm_.forward(exec, parameters, x, tape.attention_statistics, tape.attention_input);
  query_key_value_.forward(exec, parameters, tape.attention_input, tape.qkv);
  attention_forward(exec, shape, tape.qkv, tape.attention, tape.attention_output);
  attention_projection_.forward_onto(exec, parameters, tape.attention_output, x, tape.middle);

  mlp_norm_.forward(exec, parameters, tape.middle, tape.mlp_statistics, tape.mlp_input);
  mlp_hidden_.forward(exec, parameters, tape.mlp_input, tape.hidden);
  activation_forward(exec, Activation::gelu, tape.hidden, tape.activated);
  mlp_projection_.forward_onto(exec, parameters, tape.activated, tape.middle, tape.output);
}

void TransformerBlock::backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                const Backward& pass, const GradientSink& gradient) const {
  const BlockTape& tape = pass.tape;
  const BlockScratch& scratch = pass.scratch;
  mlp_projection_.backward_parameters(exec, tape.activated, pass.dx, gradient);
  mlp_projection_.backward_input(exec, parameters, pass.dx, scratch.hidden);
  activation_backward(exec, Activation::gelu, tape.hidden, scratch.hidden);
  mlp_hidden_.backward_parameters(exec, tape.mlp_input, scratch.hidden, gradient);
  mlp_hidden_.backward_input(exec, parameters, scratch.hidden, scratch.row);
  mlp_norm_.backward_parameters(exec, tape.middle, tape.mlp_statistics, scratch.row, gradient);
  mlp_norm_.backward_input(exec, parameters, tape.middle, tape.mlp_statistics, scratch.row, pass.dx);

  attention_projection_.backward_parameters(exec, tape.attention_output, pass.dx, gradient);
  attention_projection_.backward_input(exec, parameters, pass.dx, scratch.row);
  attention_backward(exec, {pass.shape, tape.attention, tape.qkv, scratch.row, scratch.scores, scratch.qkv});
  query_key_value_.backward_parameters(exec, tape.attention_input, scratch.qkv, gradient);
  query_key_value_.backward_input(exec, parameters, scratch.qkv, scratch.row);
  attention_norm_.backward_parameters(exec, pass.x, tape.attention_statistics, scratch.row, gradient);
  attention_norm_.backward_input(exec, parameters, pass.x, tape.attention_statistics, scratch.row, pass.dx);
}

}  // namespace kadam::workloads
