// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/transformer_encoder.hpp>

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

}  // namespace kadam::workloads
