// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/cnn.hpp>
#include <workloads/layers/max_pool.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace kadam::workloads {

void CnnOptions::validate() const {
  if (first_channels < 1 || second_channels < 1) {
    throw std::invalid_argument("kadam::workloads::CnnOptions: channels " + std::to_string(first_channels) +
                                " and " + std::to_string(second_channels) + ", expected at least 1 of each");
  }
}

Cnn::Cnn(const CnnOptions& options, const DataShape& shape, TensorLayoutBuilder builder)
    : options_(options),
      data_(shape),
      first_(builder, "convolution.0", shape.channels, options.first_channels),
      second_(builder, "convolution.1", options.first_channels, options.second_channels),
      output_(builder, "output", (shape.height / 4) * (shape.width / 4) * options.second_channels,
              shape.classes, false) {
  if (shape.height < 4 || shape.width < 4) {
    throw std::invalid_argument("kadam::workloads::Cnn: images of " + std::to_string(shape.height) + " x " +
                                std::to_string(shape.width) +
                                " pixels, expected at least 4 x 4, because the network halves them twice");
  }
  set_tensors(builder);
}

void Cnn::initialise(const HostVector<float>& parameters, std::uint64_t seed) const {
  require_elements("the parameter vector", parameters.extent(0), tensors().elements(),
                   "allocate tensors().elements()");
  const auto deviation = [](std::int64_t inputs) { return std::sqrt(2.0 / static_cast<double>(inputs)); };
  const Initialiser initialiser(parameters, seed);
  first_.initialise(initialiser, deviation(Convolution::taps * data_.channels));
  second_.initialise(initialiser, deviation(Convolution::taps * options_.first_channels));
  output_.initialise(initialiser, deviation(output_.inputs()));
}

void Cnn::check(const Batch& batch) const {
  require_elements("batch.images", batch.images.extent(0), batch.examples * data_.pixels(),
                   "give examples x channels x height x width pixels");
  require_elements("batch.targets", batch.targets.extent(0), batch.examples, "give one class per example");
}

Cnn::Stage Cnn::carve_stage(Arena& arena, const ImageShape& shape, std::int64_t inputs,
                            std::int64_t outputs) {
  const std::int64_t pixels = shape.pixels();
  const std::int64_t small = pooled(shape).pixels();
  return {shape,
          arena.matrix(pixels, Convolution::taps * inputs),
          arena.matrix(pixels, outputs),
          arena.matrix(pixels, outputs),
          arena.matrix(small, outputs),
          arena.matrix(small, outputs)};
}

void Cnn::carve(Arena& arena, std::int64_t examples) {
  const ImageShape shape{examples, data_.height, data_.width};
  pixels_ = arena.matrix(shape.pixels(), data_.channels);
  first_stage_ = carve_stage(arena, shape, data_.channels, options_.first_channels);
  second_stage_ = carve_stage(arena, pooled(shape), options_.first_channels, options_.second_channels);
  dcolumns_ = arena.matrix(pooled(shape).pixels(), Convolution::taps * options_.first_channels);
  logits_ = arena.matrix(examples, data_.classes);
}

Matrix<float> Cnn::flattened(const Matrix<float>& pooled_pixels) const {
  return reshaped(pooled_pixels, rows_of(logits_), output_.inputs());
}

Matrix<float> Cnn::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                           const Batch& batch) {
  const Stage& one = first_stage_;
  const Stage& two = second_stage_;
  channels_last(exec, one.shape, batch.images, pixels_);
  first_.forward(exec, parameters, one.shape, pixels_, one.columns, one.output);
  rectified_max_pool(exec, one.shape, one.output, one.small);
  second_.forward(exec, parameters, two.shape, one.small, two.columns, two.output);
  rectified_max_pool(exec, two.shape, two.output, two.small);
  output_.forward(exec, parameters, flattened(two.small), logits_);
  return logits_;
}

void Cnn::backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch&,
                   const Matrix<float>& dlogits, const GradientSink& gradient) {
  const Stage& one = first_stage_;
  const Stage& two = second_stage_;
  output_.backward_parameters(exec, flattened(two.small), dlogits, gradient);
  output_.backward_input(exec, parameters, dlogits, flattened(two.dsmall));
  rectified_max_pool_backward(exec, two.shape, two.output, two.dsmall, two.doutput);
  second_.backward_parameters(exec, two.columns, two.doutput, gradient);
  second_.backward_input(exec, parameters, two.shape, two.doutput, dcolumns_, one.dsmall);
  rectified_max_pool_backward(exec, one.shape, one.output, one.dsmall, one.doutput);
  first_.backward_parameters(exec, one.columns, one.doutput, gradient);
}

}  // namespace kadam::workloads
