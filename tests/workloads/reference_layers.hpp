// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

/// The layers of workloads/ once more: serial, double precision, one loop after the other.
namespace kadam::test::reference {

/// Row-major, as in the models.
struct Array {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;

  Array(std::size_t rows_, std::size_t columns_) : rows(rows_), columns(columns_), values(rows_ * columns_) {}
  double& operator()(std::size_t r, std::size_t c) { return values[r * columns + c]; }
  double operator()(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};

inline Array linear(const Array& x, const double* weight, const double* bias, std::size_t outputs) {
  Array y(x.rows, outputs);
  for (std::size_t r = 0; r < x.rows; ++r) {
    for (std::size_t o = 0; o < outputs; ++o) {
      y(r, o) = bias[o];
      for (std::size_t i = 0; i < x.columns; ++i) {
        y(r, o) += x(r, i) * weight[o * x.columns + i];
      }
    }
  }
  return y;
}

inline Array sum(Array a, const Array& b) {
  std::transform(a.values.begin(), a.values.end(), b.values.begin(), a.values.begin(), std::plus<>());
  return a;
}

inline Array relu(Array x) {
  std::transform(x.values.begin(), x.values.end(), x.values.begin(),
                 [](double v) { return std::max(v, 0.0); });
  return x;
}

inline double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

inline Array gelu(Array x) {
  std::transform(x.values.begin(), x.values.end(), x.values.begin(), [](double v) { return gelu(v); });
  return x;
}

inline Array layer_norm(const Array& x, const double* scale, const double* shift) {
  Array y(x.rows, x.columns);
  const auto width = static_cast<double>(x.columns);
  for (std::size_t r = 0; r < x.rows; ++r) {
    double mean = 0.0;
    double variance = 0.0;
    for (std::size_t i = 0; i < x.columns; ++i) {
      mean += x(r, i) / width;
    }
    for (std::size_t i = 0; i < x.columns; ++i) {
      variance += (x(r, i) - mean) * (x(r, i) - mean) / width;
    }
    for (std::size_t i = 0; i < x.columns; ++i) {
      y(r, i) = scale[i] * (x(r, i) - mean) / std::sqrt(variance + 1e-5) + shift[i];
    }
  }
  return y;
}

struct Attention {
  std::size_t examples, positions, heads, head_width;
  bool causal;
};

/// Rows of `qkv` are [queries | keys | values], each of heads * head_width columns.
inline Array attention(const Attention& shape, const Array& qkv) {
  const std::size_t width = shape.heads * shape.head_width;
  Array y(qkv.rows, width);
  for (std::size_t b = 0; b < shape.examples; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      for (std::size_t i = 0; i < shape.positions; ++i) {
        const std::size_t row = b * shape.positions + i;
        const std::size_t visible = shape.causal ? i + 1 : shape.positions;
        std::vector<double> p(visible, 0.0);
        double total = 0.0;
        for (std::size_t j = 0; j < visible; ++j) {
          for (std::size_t d = h * shape.head_width; d < (h + 1) * shape.head_width; ++d) {
            p[j] += qkv(row, d) * qkv(b * shape.positions + j, width + d);
          }
          p[j] = std::exp(p[j] / std::sqrt(static_cast<double>(shape.head_width)));
          total += p[j];
        }
        for (std::size_t j = 0; j < visible; ++j) {
          for (std::size_t d = h * shape.head_width; d < (h + 1) * shape.head_width; ++d) {
            y(row, d) += p[j] / total * qkv(b * shape.positions + j, 2 * width + d);
          }
        }
      }
    }
  }
  return y;
}

/// One row per pixel; weight [outputs][3][3][inputs], zeros around the image.
inline Array convolution(const Array& x, std::size_t height, std::size_t width, const double* weight,
                         const double* bias, std::size_t outputs) {
  Array y(x.rows, outputs);
  for (std::size_t pixel = 0; pixel < x.rows; ++pixel) {
    const auto v = static_cast<std::ptrdiff_t>(pixel / width % height);
    const auto u = static_cast<std::ptrdiff_t>(pixel % width);
    for (std::size_t o = 0; o < outputs; ++o) {
      y(pixel, o) = bias[o];
      for (std::ptrdiff_t tap = 0; tap < 9; ++tap) {
        const std::ptrdiff_t i = tap / 3 - 1;
        const std::ptrdiff_t j = tap % 3 - 1;
        if (v + i < 0 || v + i >= static_cast<std::ptrdiff_t>(height) || u + j < 0 ||
            u + j >= static_cast<std::ptrdiff_t>(width)) {
          continue;
        }
        const auto neighbour = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(pixel) +
                                                        i * static_cast<std::ptrdiff_t>(width) + j);
        const double* const w = weight + (o * 9 + static_cast<std::size_t>(tap)) * x.columns;
        for (std::size_t c = 0; c < x.columns; ++c) {
          y(pixel, o) += w[c] * x(neighbour, c);
        }
      }
    }
  }
  return y;
}

inline Array max_pool(const Array& x, std::size_t height, std::size_t width) {
  const std::size_t images = x.rows / (height * width);
  const std::size_t h = height / 2;
  const std::size_t w = width / 2;
  Array y(images * h * w, x.columns);
  for (std::size_t pixel = 0; pixel < y.rows; ++pixel) {
    const std::size_t first = (pixel / (h * w) * height + 2 * (pixel / w % h)) * width + 2 * (pixel % w);
    for (std::size_t c = 0; c < x.columns; ++c) {
      y(pixel, c) = std::max({x(first, c), x(first + 1, c), x(first + width, c), x(first + width + 1, c)});
    }
  }
  return y;
}

/// Mean over the rows whose target is not negative.
inline double cross_entropy(const Array& logits, const std::vector<int>& targets) {
  double total = 0.0;
  double count = 0.0;
  for (std::size_t r = 0; r < logits.rows; ++r) {
    if (targets[r] < 0) {
      continue;
    }
    double sum = 0.0;
    for (std::size_t c = 0; c < logits.columns; ++c) {
      sum += std::exp(logits(r, c));
    }
    total += std::log(sum) - logits(r, static_cast<std::size_t>(targets[r]));
    count += 1.0;
  }
  return total / count;
}

}  // namespace kadam::test::reference
