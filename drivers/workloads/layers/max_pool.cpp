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

}  // namespace

void rectified_max_pool(const ExecutionSpace& exec, const ImageShape& shape, const Matrix<const float>& x,
                        const Matrix<float>& y) {
  const std::int64_t channels = columns_of(x);
  const ImageShape small = pooled(shape);
  Kokkos::parallel_for(
      "kadam::workloads::rectified_max_pool", row_policy(exec, small.examples * small.height),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t line = member.league_rank();
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
  Kokkos::parallel_for(
      "kadam::workloads::rectified_max_pool_backward", row_policy(exec, small.examples * small.height),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t line = member.league_rank();
        row_for(member, small.width, [&](std::int64_t u) {
          const Window window(shape, line, u, channels);
          const float* const in = x.data();
          const float* const out = dy.data() + (line * small.width + u) * channels;
          float* const result = dx.data();
          for (std::int64_t c = 0; c < channels; ++c) {
            float largest = 0.0f;
            int winner = -1;
            for (int corner = 0; corner < 4; ++corner) {
              const float value = in[window.begin[corner] + c];
              winner = value <= largest ? winner : corner;
              largest = value <= largest ? largest : value;
            }
            for (int corner = 0; corner < 4; ++corner) {
              result[window.begin[corner] + c] = corner == winner ? out[c] : 0.0f;
            }
          }
        });
      });
}

}  // namespace kadam::workloads
