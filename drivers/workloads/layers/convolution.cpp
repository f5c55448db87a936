// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/convolution.hpp>
#include <workloads/layers/row.hpp>

// One row kernel per line of an image: lanes share its pixels.
namespace kadam::workloads {
namespace {

void gather_neighbourhoods(const ExecutionSpace& exec, const ImageShape& shape, const Matrix<const float>& x,
                           const Matrix<float>& columns) {
  const std::int64_t channels = columns_of(x);
  Kokkos::parallel_for(
      "kadam::workloads::gather_neighbourhoods", row_policy(exec, shape.examples * shape.height),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t line = member.league_rank();
        const std::int64_t v = line % shape.height;
        row_for(member, shape.width, [&](std::int64_t u) {
          float* out = columns.data() + (line * shape.width + u) * Convolution::taps * channels;
          for (std::int64_t i = -1; i <= 1; ++i) {
            for (std::int64_t j = -1; j <= 1; ++j, out += channels) {
              const bool inside = v + i >= 0 && v + i < shape.height && u + j >= 0 && u + j < shape.width;
              const float* const in = x.data() + ((line + i) * shape.width + u + j) * channels;
              for (std::int64_t c = 0; c < channels; ++c) {
                out[c] = inside ? in[c] : 0.0f;
              }
            }
          }
        });
      });
}

/// The adjoint of `gather_neighbourhoods`: each pixel collects what the nine neighbourhoods it is in send
/// back.
void collect_neighbourhoods(const ExecutionSpace& exec, const ImageShape& shape,
                            const Matrix<const float>& dcolumns, const Matrix<float>& dx) {
  const std::int64_t channels = columns_of(dx);
  Kokkos::parallel_for(
      "kadam::workloads::collect_neighbourhoods", row_policy(exec, shape.examples * shape.height),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t line = member.league_rank();
        const std::int64_t v = line % shape.height;
        row_for(member, shape.width, [&](std::int64_t u) {
          float* const out = dx.data() + (line * shape.width + u) * channels;
          for (std::int64_t c = 0; c < channels; ++c) {
            out[c] = 0.0f;
          }
          for (std::int64_t tap = 0; tap < Convolution::taps; ++tap) {
            const std::int64_t i = 1 - tap / 3;
            const std::int64_t j = 1 - tap % 3;
            if (v + i < 0 || v + i >= shape.height || u + j < 0 || u + j >= shape.width) {
              continue;
            }
            const std::int64_t pixel = (line + i) * shape.width + u + j;
            const float* const in = dcolumns.data() + (pixel * Convolution::taps + tap) * channels;
            for (std::int64_t c = 0; c < channels; ++c) {
              out[c] += in[c];
            }
          }
        });
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
  Kokkos::parallel_for(
      "kadam::workloads::channels_last", row_policy(exec, shape.examples * channels),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t rank = member.league_rank();
        const float* const in = images.data() + rank * plane;
        float* const out = x.data() + rank / channels * plane * channels + rank % channels;
        row_for(member, plane, [&](std::int64_t pixel) { out[pixel * channels] = in[pixel]; });
      });
}

}  // namespace kadam::workloads
