// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <stdexcept>
#include <string>
#include <workloads/transformer.hpp>

namespace kadam::workloads {
namespace {

constexpr double embedding_deviation = 0.02;

std::vector<TransformerBlock> make_blocks(TensorLayoutBuilder& builder, const TransformerOptions& options) {
  std::vector<TransformerBlock> blocks;
  for (std::int64_t i = 0; i < options.depth; ++i) {
    blocks.emplace_back(builder, "blocks." + std::to_string(i), options.width);
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
  require_positive("vocabulary", vocabulary);
  if (context < 0) {
    throw std::invalid_argument("kadam::workloads::TransformerOptions: context is " +
                                std::to_string(context) +
                                ", expected a number of tokens, or 0 for the data set's");
  }
  if (width % heads != 0) {
    throw std::invalid_argument("kadam::workloads::TransformerOptions: width " + std::to_string(width) +
                                " is not a multiple of heads " + std::to_string(heads) +
                                ": each head takes width / heads columns");
  }
}

Transformer::Transformer(const TransformerOptions& options, TensorLayoutBuilder builder)
    : options_(options),
      embedding_(builder, options.vocabulary, options.context, options.width),
      blocks_(make_blocks(builder, options)),
      output_norm_(builder, "output_norm", options.width),
      output_(builder, "output", options.width, options.vocabulary),
      tapes_(blocks_.size()) {
  require_positive("context (of a model made without a data set)", options.context);
  set_tensors(builder);
}

void Transformer::initialise(const HostVector<float>& parameters, std::uint64_t seed) const {
  require_elements("the parameter vector", parameters.extent(0), tensors().elements(),
                   "allocate tensors().elements()");
  const Initialiser initialiser(parameters, seed);
  embedding_.initialise(initialiser, embedding_deviation);
  for (const TransformerBlock& block : blocks_) {
    block.initialise(initialiser, options_.depth);
  }
  output_norm_.initialise(initialiser);
  output_.initialise(initialiser, embedding_deviation);
}

void Transformer::check(const Batch& batch) const {
  const std::int64_t tokens = batch.examples * options_.context;
  require_elements("batch.tokens", batch.tokens.extent(0), tokens, "give examples x context tokens");
  require_elements("batch.targets", batch.targets.extent(0), tokens, "give examples x context targets");
}

void Transformer::carve(Arena& arena, std::int64_t examples) {
  shape_ = {examples, options_.context, options_.heads, options_.width / options_.heads, true};
  const std::int64_t rows = examples * options_.context;
  const std::int64_t hidden = TransformerBlock::expansion * options_.width;
  embedded_ = arena.matrix(rows, options_.width);
  for (BlockTape& tape : tapes_) {
    tape = BlockTape(arena, shape_, hidden);
  }
  scratch_ = BlockScratch(arena, shape_, hidden);
  output_statistics_ = arena.matrix(rows, 2);
  normalised_ = arena.matrix(rows, options_.width);
  logits_ = arena.matrix(rows, options_.vocabulary);
  dx_ = arena.matrix(rows, options_.width);
}

Matrix<float> Transformer::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                   const Batch& batch) {
  embedding_.forward(exec, parameters, batch.tokens, embedded_);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].forward(exec, parameters, shape_, input_of(i), tapes_[i]);
  }
  output_norm_.forward(exec, parameters, input_of(blocks_.size()), output_statistics_, normalised_);
  output_.forward(exec, parameters, normalised_, logits_);
  return logits_;
}

void Transformer::backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                           const Batch& batch, const Matrix<float>& dlogits, const Vector<float>& gradient) {
  const Matrix<float>& last = input_of(blocks_.size());
  output_.backward_parameters(exec, normalised_, dlogits, gradient);
  output_.backward_input(exec, parameters, dlogits, scratch_.row);
  output_norm_.backward_parameters(exec, last, output_statistics_, scratch_.row, gradient);
  Kokkos::deep_copy(exec, dx_, 0.0f);
  output_norm_.backward_input(exec, parameters, last, output_statistics_, scratch_.row, dx_);
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    blocks_[i].backward(exec, parameters, {shape_, input_of(i), tapes_[i], scratch_, dx_}, gradient);
  }
  embedding_.backward(exec, batch.tokens, dx_, gradient);
}

}  // namespace kadam::workloads
