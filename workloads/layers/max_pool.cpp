// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/max_pool.hpp>
#include <workloads/layers/row.hpp>

namespace kadam::workloads {
namespace {

/// First elements of the four pixels under the pooled pixel (line, u), `line` counted over the batch.
struct Window {
  std::int64_t begin[4];

  KOKKOS_INLINE_FUNCTION Window(const ImageShape& shape, std::int64_t line, std::int64_t u,
                                std::int64_t channels) {
    const std::int64_t lines = shape.height / 2;
    const std::int64_t top = line / lines * shape.height + 2 * (line % lines);
    begin[0] = (top * shape.width + 2 * u) * channels;
    begin[1] = begin[0] + channels;
    begin[2] = begin[0] + shape.width * channels;
    begin[3] = begin[2] + channels;
  }
};

/// Channels [c, c + lanes) of one window. Selections instead of branches, and stores last, so that it
/// vectorises.
template <int lanes>
KOKKOS_INLINE_FUNCTION void route_back(const Window& window, std::int64_t c, const float* x, const float* dy,
                                       float* dx) {
  float sent[4][lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    const float x0 = x[window.begin[0] + c + lane];
    const float x1 = x[window.begin[1] + c + lane];
    const float x2 = x[window.begin[2] + c + lane];
    const float x3 = x[window.begin[3] + c + lane];
    const float top = x1 > x0 ? x1 : x0;
    const float bottom = x3 > x2 ? x3 : x2;
    const float largest = bottom > top ? bottom : top;
    const float all = largest > 0.0f ? dy[c + lane] : 0.0f;
    const float up = bottom > top ? 0.0f : all;
    const float down = bottom > top ? all : 0.0f;
    sent[0][lane] = x1 > x0 ? 0.0f : up;
    sent[1][lane] = x1 > x0 ? up : 0.0f;
    sent[2][lane] = x3 > x2 ? 0.0f : down;
    sent[3][lane] = x3 > x2 ? down : 0.0f;
  }
  for (int corner = 0; corner < 4; ++corner) {
    for (int lane = 0; lane < lanes; ++lane) {
      dx[window.begin[corner] + c + lane] = sent[corner][lane];
    }
  }
}

}  // namespace

void rectified_max_pool(const ExecutionSpace& exec, const ImageShape& shape, const Matrix<const float>& x,
                        const Matrix<float>& y) {
  const std::int64_t channels = columns_of(x);
  const ImageShape small = pooled(shape);
  for_each_row(
      "kadam::workloads::rectified_max_pool", exec, small.examples * small.height,
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t line) {
        row_for(member, small.width, [&](std::int64_t u) {
          const Window window(shape, line, u, channels);
          const float* const in = x.data();
          float* const out = y.data() + (line * small.width + u) * channels;
          for (std::int64_t c = 0; c < channels; ++c) {
            float largest = 0.0f;
            for (const std::int64_t begin : window.begin) {
              largest = in[begin + c] <= largest ? largest : in[begin + c];
            }
            out[c] = largest;
          }
        });
      });
}

void rectified_max_pool_backward(const ExecutionSpace& exec, const ImageShape& shape,
                                 const Matrix<const float>& x, const Matrix<const float>& dy,
                                 const Matrix<float>& dx) {
  const std::int64_t channels = columns_of(x);
  const ImageShape small = pooled(shape);
  if (shape.height % 2 != 0 || shape.width % 2 != 0) {
    Kokkos::deep_copy(exec, dx, 0.0f);
  }
  for_each_row(
      "kadam::workloads::rectified_max_pool_backward", exec, small.examples * small.height,
      KOKKOS_LAMBDA(const RowMember& member, const std::int64_t line) {
        row_for(member, small.width, [&](std::int64_t u) {
          const Window window(shape, line, u, channels);
          const float* const in = x.data();
          const float* const out = dy.data() + (line * small.width + u) * channels;
          float* const result = dx.data();
          std::int64_t c = 0;
          for (; c + 8 <= channels; c += 8) {
            route_back<8>(window, c, in, out, result);
          }
          for (; c < channels; ++c) {
            route_back<1>(window, c, in, out, result);
          }
        });
      });
}

}  // namespace kadam::workloads
