// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/row.hpp>
#include <workloads/matrix.hpp>
#include <workloads/vit.hpp>

#include <stdexcept>
#include <string>

namespace kadam::workloads {
namespace {

/// y(e, :) = mean of the rows of x that belong to example e.
/// Shape: x [examples * positions][width], y [examples][width].
void mean_pool(const ExecutionSpace& exec, const Matrix<const float>& x, const Matrix<float>& y) {
  const std::int64_t width = columns_of(x);
  const std::int64_t positions = rows_of(x) / rows_of(y);
  const float factor = 1.0f / static_cast<float>(positions);
  for_each_row(
      "kadam::workloads::mean_pool", exec, rows_of(y),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t example) {
        const float* const in = x.data() + example * positions * width;
        float* const out = y.data() + example * width;
        row_combine(
            member, width, positions,
            [&](std::int64_t position, std::int64_t i) { return in[position * width + i]; },
            [&](std::int64_t i, float sum) { out[i] = factor * sum; });
      });
}

/// dx(n, :) = dy(e, :) / positions for each row n of example e.
void mean_pool_backward(const ExecutionSpace& exec, const Matrix<const float>& dy, const Matrix<float>& dx) {
  const std::int64_t width = columns_of(dx);
  const std::int64_t positions = rows_of(dx) / rows_of(dy);
  const float factor = 1.0f / static_cast<float>(positions);
  for_each_row(
      "kadam::workloads::mean_pool_backward", exec, rows_of(dx),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t row) {
        const float* const in = dy.data() + row / positions * width;
        float* const out = dx.data() + row * width;
        row_for(member, width, [&](std::int64_t i) { out[i] = factor * in[i]; });
      });
}

constexpr double initial_deviation = 0.02;

}  // namespace

void VitOptions::validate() const {
  if (patch < 1) {
    throw std::invalid_argument("kadam::workloads::VitOptions: patch is " + std::to_string(patch) +
                                ", expected at least 1 pixel");
  }
}

PatchGrid Vit::grid_for(const VitOptions& options, const DataShape& shape) {
  options.validate();
  if (shape.height % options.patch != 0 || shape.width % options.patch != 0) {
    throw std::invalid_argument("kadam::workloads::Vit: patches of " + std::to_string(options.patch) +
                                " do not fill images of " + std::to_string(shape.height) + " x " +
                                std::to_string(shape.width) + " pixels: take a patch that divides both");
  }
  if (shape.patch > 0 && shape.patch != options.patch) {
    throw std::invalid_argument("kadam::workloads::Vit: patch is " + std::to_string(options.patch) +
                                ", but the data have one class per patch of " + std::to_string(shape.patch) +
                                ": make them equal");
  }
  return {shape.channels, shape.height, shape.width, options.patch};
}

Vit::Vit(const TransformerOptions& blocks, const DataShape& shape, const PatchGrid& grid,
         TensorLayoutBuilder builder)
    : width_(blocks.width),
      data_(shape),
      grid_(grid),
      patches_(builder, grid, blocks.width),
      positions_(builder, grid.patches(), blocks.width),
      encoder_(builder, blocks),
      head_(builder, blocks.width, shape.classes) {
  set_tensors(builder);
}

void Vit::initialise(const HostVector<float>& parameters, std::uint64_t seed) const {
  require_elements("the parameter vector", parameters.extent(0), tensors().elements(),
                   "allocate tensors().elements()");
  const Initialiser initialiser(parameters, seed);
  patches_.initialise(initialiser);
  positions_.initialise(initialiser, initial_deviation);
  encoder_.initialise(initialiser);
  head_.initialise(initialiser, initial_deviation);
}

void Vit::check(const Batch& batch) const {
  require_elements("batch.images", batch.images.extent(0), batch.examples * data_.pixels(),
                   "give examples x channels x height x width pixels");
  require_elements("batch.targets", batch.targets.extent(0), batch.examples * data_.predictions(),
                   "give one class per image, or per patch");
}

void Vit::carve(Arena& arena, std::int64_t examples) {
  patch_pixels_ = arena.matrix(examples * grid_.patches(), grid_.patch_pixels());
  encoder_.carve(arena, examples, grid_.patches(), false);
  head_.carve(arena, examples * data_.predictions());
  pooled_ = arena.matrix(examples, width_);
  dpooled_ = arena.matrix(examples, width_);
}

Matrix<float> Vit::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                           const Batch& batch) {
  patches_.forward(exec, parameters, batch.images, patch_pixels_, encoder_.input());
  positions_.add_to(exec, parameters, encoder_.input());
  encoder_.forward(exec, parameters);
  if (is_segmentation()) {
    return head_.forward(exec, parameters, encoder_.output());
  }
  mean_pool(exec, encoder_.output(), pooled_);
  return head_.forward(exec, parameters, pooled_);
}

void Vit::backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch&,
                   const Matrix<float>& dlogits, const GradientSink& gradient) {
  if (is_segmentation()) {
    head_.backward(exec, parameters, encoder_.output(), dlogits, encoder_.dx(), gradient);
  } else {
    head_.backward(exec, parameters, pooled_, dlogits, dpooled_, gradient);
    mean_pool_backward(exec, dpooled_, encoder_.dx());
  }
  encoder_.backward(exec, parameters, gradient);
  positions_.backward(exec, encoder_.dx(), gradient);
  patches_.backward(exec, patch_pixels_, encoder_.dx(), gradient);
}

}  // namespace kadam::workloads
