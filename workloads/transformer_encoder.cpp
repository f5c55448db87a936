// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/activation.hpp>
#include <workloads/transformer_encoder.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace kadam::workloads {
namespace {

std::vector<TransformerBlock> make_blocks(TensorLayoutBuilder& builder, const TransformerOptions& options) {
  std::vector<TransformerBlock> blocks;
  blocks.reserve(static_cast<std::size_t>(options.depth));
  for (std::int64_t i = 0; i < options.depth; ++i) {
    std::string name = "blocks.";
    name += std::to_string(i);
    blocks.emplace_back(builder, name, options.width);
  }
  return blocks;
}

void require_positive(const char* name, std::int64_t value) {
  if (value < 1) {
    throw std::invalid_argument("kadam::workloads::TransformerOptions: " + std::string(name) + " is " +
                                std::to_string(value) + ", expected at least 1");
  }
}

}  // namespace

void TransformerOptions::validate() const {
  require_positive("width", width);
  require_positive("depth", depth);
  require_positive("heads", heads);
  if (width % heads != 0) {
    throw std::invalid_argument("kadam::workloads::TransformerOptions: width " + std::to_string(width) +
                                " is not a multiple of heads " + std::to_string(heads) +
                                ": each head takes width / heads columns");
  }
}

TransformerEncoder::TransformerEncoder(TensorLayoutBuilder& layout, const TransformerOptions& options)
    : options_(options), blocks_(make_blocks(layout, options)), tapes_(blocks_.size()) {}

void TransformerEncoder::initialise(const Initialiser& initialiser) const {
  for (const TransformerBlock& block : blocks_) {
    block.initialise(initialiser, options_.depth);
  }
}

void TransformerEncoder::carve(Arena& arena, std::int64_t examples, std::int64_t positions, bool causal) {
  shape_ = {examples, positions, options_.heads, options_.width / options_.heads, causal};
  const std::int64_t hidden = TransformerBlock::expansion * options_.width;
  embedded_ = arena.matrix(examples * positions, options_.width);
  for (BlockTape& tape : tapes_) {
    tape = BlockTape(arena, shape_, hidden);
  }
  scratch_ = BlockScratch(arena, shape_, hidden);
  dx_ = arena.matrix(examples * positions, options_.width);
}

void TransformerEncoder::forward(const ExecutionSpace& exec, const Vector<const float>& parameters) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].forward(exec, parameters, shape_, input_of(i), tapes_[i]);
  }
}

void TransformerEncoder::backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                  const GradientSink& gradient) const {
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    blocks_[i].backward(exec, parameters, {shape_, input_of(i), tapes_[i], scratch_, dx_}, gradient);
  }
}

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

TransformerHead::TransformerHead(TensorLayoutBuilder& layout, std::int64_t width, std::int64_t classes)
    : norm_(layout, "output_norm", width), output_(layout, "output", width, classes, false) {}

void TransformerHead::initialise(const Initialiser& initialiser, double deviation) const {
  norm_.initialise(initialiser);
  output_.initialise(initialiser, deviation);
}

void TransformerHead::carve(Arena& arena, std::int64_t rows) {
  statistics_ = arena.matrix(rows, 2);
  normalised_ = arena.matrix(rows, output_.inputs());
  dnormalised_ = arena.matrix(rows, output_.inputs());
  logits_ = arena.matrix(rows, output_.outputs());
}

const Matrix<float>& TransformerHead::forward(const ExecutionSpace& exec,
                                              const Vector<const float>& parameters,
                                              const Matrix<const float>& x) const {
  norm_.forward(exec, parameters, x, statistics_, normalised_);
  output_.forward(exec, parameters, normalised_, logits_);
  return logits_;
}

void TransformerHead::backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                               const Matrix<const float>& x, const Matrix<const float>& dlogits,
                               const Matrix<float>& dx, const GradientSink& gradient) const {
  output_.backward_parameters(exec, normalised_, dlogits, gradient);
  output_.backward_input(exec, parameters, dlogits, dnormalised_);
  norm_.backward_parameters(exec, x, statistics_, dnormalised_, gradient);
  Kokkos::deep_copy(exec, dx, 0.0f);
  norm_.backward_input(exec, parameters, x, statistics_, dnormalised_, dx);
}

}  // namespace kadam::workloads
