// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/convolution.hpp>
#include <workloads/layers/row.hpp>

namespace kadam::workloads {
namespace {

/// One row kernel per line of an image. Each of the three lines of a neighbourhood is contiguous in memory.
void gather_neighbourhoods(const ExecutionSpace& exec, const ImageShape& shape, const Matrix<const float>& x,
                           const Matrix<float>& columns) {
  const std::int64_t channels = columns_of(x);
  for_each_row(
      "kadam::workloads::gather_neighbourhoods", exec, shape.examples * shape.height,
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t line) {
        const std::int64_t v = line % shape.height;
        row_for(member, shape.width, [&](std::int64_t u) {
          const std::int64_t skip = u == 0 ? channels : 0;
          const std::int64_t end = u + 1 == shape.width ? 2 * channels : 3 * channels;
          float* out = columns.data() + (line * shape.width + u) * Convolution::taps * channels;
          for (std::int64_t i = -1; i <= 1; ++i, out += 3 * channels) {
            const bool inside = v + i >= 0 && v + i < shape.height;
            const float* const in = x.data() + ((line + i) * shape.width + u - 1) * channels;
            if (inside && u > 0 && u + 1 < shape.width) {
              for (std::int64_t c = 0; c < 3 * channels; ++c) {
                out[c] = in[c];
              }
            } else {
              for (std::int64_t c = 0; c < 3 * channels; ++c) {
                out[c] = inside && c >= skip && c < end ? in[c] : 0.0f;
              }
            }
          }
        });
      });
}

/// The adjoint of gather_neighbourhoods(): each pixel adds up its entries in the nine neighbourhoods that it
/// is in.
void collect_neighbourhoods(const ExecutionSpace& exec, const ImageShape& shape,
                            const Matrix<const float>& dcolumns, const Matrix<float>& dx) {
  const std::int64_t channels = columns_of(dx);
  for_each_row(
      "kadam::workloads::collect_neighbourhoods", exec, shape.pixels(),
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t pixel) {
        const std::int64_t v = pixel / shape.width % shape.height;
        const std::int64_t u = pixel % shape.width;
        const float* sources[Convolution::taps];
        std::int64_t count = 0;
        for (std::int64_t tap = 0; tap < Convolution::taps; ++tap) {
          const std::int64_t i = 1 - tap / 3;
          const std::int64_t j = 1 - tap % 3;
          if (v + i >= 0 && v + i < shape.height && u + j >= 0 && u + j < shape.width) {
            const std::int64_t neighbour = pixel + i * shape.width + j;
            sources[count++] = dcolumns.data() + (neighbour * Convolution::taps + tap) * channels;
          }
        }
        float* const out = dx.data() + pixel * channels;
        row_combine(
            member, channels, count, [&](std::int64_t t, std::int64_t c) { return sources[t][c]; },
            [&](std::int64_t c, float sum) { out[c] = sum; });
      });
}

}  // namespace

void Convolution::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                          const ImageShape& shape, const Matrix<const float>& x, const Matrix<float>& columns,
                          const Matrix<float>& y) const {
  gather_neighbourhoods(exec, shape, x, columns);
  product_.forward(exec, parameters, columns, y);
}

void Convolution::backward_input(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                 const ImageShape& shape, const Matrix<const float>& dy,
                                 const Matrix<float>& dcolumns, const Matrix<float>& dx) const {
  product_.backward_input(exec, parameters, dy, dcolumns);
  collect_neighbourhoods(exec, shape, dcolumns, dx);
}

void channels_last(const ExecutionSpace& exec, const ImageShape& shape, const Vector<const float>& images,
                   const Matrix<float>& x) {
  const std::int64_t channels = columns_of(x);
  const std::int64_t plane = shape.height * shape.width;
  for_each_row(
      "kadam::workloads::channels_last", exec, shape.examples * channels,
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t rank) {
        const float* const in = images.data() + rank * plane;
        float* const out = x.data() + rank / channels * plane * channels + rank % channels;
        row_for(member, plane, [&](std::int64_t pixel) { out[pixel * channels] = in[pixel]; });
      });
}

}  // namespace kadam::workloads
