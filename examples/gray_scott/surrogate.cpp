// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "surrogate.hpp"

#include "random.hpp"

#include <cmath>
#include <string>

namespace gray_scott {
namespace {

using kadam::ExecutionSpace;
using kadam::Vector;

/// GELU in its tanh form (Hendrycks and Gimpel 2016), written as x σ(a (x + b x^3)), and its derivative.
struct Gelu {
  float value;
  float derivative;

  KOKKOS_INLINE_FUNCTION explicit Gelu(float x) {
    constexpr float a = 1.5957691216F;
    constexpr float b = 0.044715F;
    const float sigma = 1.0F / (1.0F + Kokkos::exp(-a * x * (1.0F + b * x * x)));
    value = x * sigma;
    derivative = sigma + value * (1.0F - sigma) * a * (1.0F + 3.0F * b * x * x);
  }
};

void activate(const ExecutionSpace& exec, const Matrix& x, const Matrix& out) {
  const auto width = static_cast<std::int64_t>(x.extent(1));
  Kokkos::parallel_for(
      "gray_scott::activate", for_rows_of(exec, out), KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t r = member.league_rank();
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, width + 1),
                             [&](std::int64_t c) { out(r, c) = c < width ? Gelu(x(r, c)).value : 1.0F; });
      });
}

void apply_derivative(const ExecutionSpace& exec, const Matrix& x, const Matrix& gradient) {
  const auto width = static_cast<std::int64_t>(x.extent(1));
  Kokkos::parallel_for(
      "gray_scott::apply_derivative", for_rows_of(exec, gradient), KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t r = member.league_rank();
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, width),
                             [&](std::int64_t c) { gradient(r, c) *= Gelu(x(r, c)).derivative; });
      });
}

/// L = 1/(n m) Σ (y - t)^2 and dL/dy.
double squared_error(const ExecutionSpace& exec, const Matrix& y, const Matrix& t, const Matrix& gradient) {
  const auto columns = static_cast<std::int64_t>(y.extent(1));
  const auto elements = static_cast<std::int64_t>(y.extent(0)) * columns;
  double sum = 0.0;
  Kokkos::parallel_reduce(
      "gray_scott::squared_error",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, elements),
      KOKKOS_LAMBDA(std::int64_t i, double& part) {
        const float error = y(i / columns, i % columns) - t(i / columns, i % columns);
        gradient(i / columns, i % columns) = 2.0F / static_cast<float>(elements) * error;
        part += static_cast<double>(error) * static_cast<double>(error);
      },
      sum);
  return sum / static_cast<double>(elements);
}

Matrix make_matrix(const ExecutionSpace& exec, const std::string& label, std::int64_t rows,
                   std::int64_t columns) {
  return Matrix(Kokkos::view_alloc(exec, label), static_cast<std::size_t>(rows),
                static_cast<std::size_t>(columns));
}

}  // namespace

Surrogate::Surrogate(const ExecutionSpace& exec, std::int64_t inputs, std::vector<std::int64_t> widths,
                     std::int64_t most_examples)
    : targets_(make_matrix(exec, "gray_scott::targets", most_examples, widths.back())) {
  kadam::TensorLayoutBuilder builder;
  for (const std::int64_t width : widths) {
    const std::string name = "layers." + std::to_string(layers_.size());
    Layer layer;
    layer.range.begin = builder.add(name + ".weight", {inputs, width});
    layer.range.end = builder.add(name + ".bias", width) + width;
    layer.rows = inputs + 1;
    layer.columns = width;
    layer.in = make_matrix(exec, "gray_scott::layer_inputs", most_examples, inputs + 1);
    layer.out = make_matrix(exec, "gray_scott::layer_outputs", most_examples, width);
    layer.gradient = make_matrix(exec, "gray_scott::layer_gradient", most_examples, width);
    layers_.push_back(layer);
    inputs = width;
  }
  tensors_ = builder.build();
}

ConstMatrix Surrogate::Layer::weights(const Vector<const float>& parameters) const {
  return ConstMatrix(parameters.data() + range.begin, rows, columns);
}

void Surrogate::initialise(const kadam::HostVector<float>& parameters, std::uint64_t seed) const {
  for (const Layer& layer : layers_) {
    const double scale = &layer == &layers_.back() ? 0.1 : 1.0;
    const double deviation = scale * std::sqrt(2.0 / static_cast<double>(layer.rows - 1));
    const std::int64_t bias = layer.range.end - layer.columns;
    for (std::int64_t i = layer.range.begin; i < layer.range.end; ++i) {
      parameters(i) = i < bias
                          ? static_cast<float>(deviation * random_normal(seed, static_cast<std::uint64_t>(i)))
                          : 0.0F;
    }
  }
}

Matrix Surrogate::predict(const ExecutionSpace& exec, const Vector<const float>& parameters,
                          std::int64_t examples) const {
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const Matrix out = first_rows(layers_[k].out, examples);
    multiply(exec, "gray_scott::forward", first_rows(layers_[k].in, examples), layers_[k].weights(parameters),
             out);
    if (k + 1 < layers_.size()) activate(exec, out, first_rows(layers_[k + 1].in, examples));
  }
  return first_rows(layers_.back().out, examples);
}

double Surrogate::loss_and_gradient(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                    const Vector<float>& gradient, std::int64_t examples,
                                    const std::function<void(const kadam::ElementRange&)>& ready) const {
  Matrix dy = first_rows(layers_.back().gradient, examples);
  const double loss = squared_error(exec, predict(exec, parameters, examples), targets(examples), dy);
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const Layer& layer = layers_[k];
    const Matrix dw(gradient.data() + layer.range.begin, layer.rows, layer.columns);
    multiply(exec, "gray_scott::backward_weights", transposed(first_rows(layer.in, examples)), dy, dw);
    ready(layer.range);
    if (k == 0) break;
    const Matrix dx = first_rows(layers_[k - 1].gradient, examples);
    multiply(exec, "gray_scott::backward_inputs", dy, transposed(layer.weights(parameters)), dx);
    apply_derivative(exec, first_rows(layers_[k - 1].out, examples), dx);
    dy = dx;
  }
  return loss;
}

}  // namespace gray_scott
