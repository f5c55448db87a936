// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/newton_schulz.hpp>
#include <kadam/config.hpp>
#include <kadam/kernels/matrix_product.hpp>
#include <kadam/kernels/symmetric_matrix.hpp>

#ifdef KADAM_ENABLE_KOKKOS_KERNELS
#include <KokkosBlas3_gemm.hpp>
#endif

#include <algorithm>
#include <array>
#include <utility>

namespace kadam {
namespace {

/// Numbers of iterations after which X is multiplied by their factors; A is then computed from X again.
constexpr std::array<int, 2> newton_schulz_stages = {3, 2};

/// Extents of the workspace.
struct Largest {
  std::int64_t elements = 0;
  std::int64_t short_side = 0;

  explicit Largest(const std::vector<MatrixPlace>& places) {
    for (const MatrixPlace& place : places) {
      elements = std::max(elements, place.elements());
      short_side = std::max(short_side, place.short_side());
    }
  }
  [[nodiscard]] std::int64_t square() const { return short_side * short_side; }
};

/// Columns of a symmetric product that are computed at a time, from the diagonal down. Narrow ones leave more
/// of the upper triangle out; below a width a product no longer fills a processor's core, or a device.
std::int64_t panel_width(std::int64_t side) {
  constexpr std::int64_t panels = 8;
  constexpr std::int64_t least = kernels_run_on_host ? symmetric_tile : 512;
  const std::int64_t width = std::max((side + panels - 1) / panels, least);
  return (width + symmetric_tile - 1) / symmetric_tile * symmetric_tile;
}

using PanelRange = std::pair<std::int64_t, std::int64_t>;

/// Calls function(rows, columns) for every panel, which has some columns from the diagonal down. A remainder
/// shorter than a tile belongs to the panel before: products of one column go wrong in Kokkos Kernels 4.4,
/// which takes a column of a wider matrix for a vector without gaps.
template <class Function>
void for_each_panel(std::size_t extent, const Function& function) {
  const auto side = static_cast<std::int64_t>(extent);
  const std::int64_t width = panel_width(side);
  for (std::int64_t begin = 0, end = 0; begin < side; begin = end) {
    end = side - begin < width + symmetric_tile ? side : begin + width;
    function(PanelRange{begin, side}, PanelRange{begin, end});
  }
}

using ReadMatrix = RowMajor<const float, MemorySpace>;
using WrittenMatrix = RowMajor<float, MemorySpace>;

WrittenMatrix row_major(const Vector<float>& values, std::int64_t rows, std::int64_t columns) {
  return WrittenMatrix(values.data(), static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}

enum class ProductOrder : std::uint8_t { plain, left_transposed, right_transposed };

/// C = A B, or the product with one of them transposed.
void matrix_product(const ExecutionSpace& exec, ProductOrder order, const ReadMatrix& left,
                    const ReadMatrix& right, const WrittenMatrix& result) {
#ifdef KADAM_ENABLE_KOKKOS_KERNELS
  // On devices Kokkos Kernels adds up such small products by atomics: other bits in every run.
  constexpr std::size_t added_by_atomics_below = 100;
  if (kernels_run_on_host || order != ProductOrder::left_transposed ||
      result.size() >= added_by_atomics_below) {
    KokkosBlas::gemm(exec, order == ProductOrder::left_transposed ? "T" : "N",
                     order == ProductOrder::right_transposed ? "T" : "N", 1.0F, left, right, 0.0F, result);
    return;
  }
#endif
  switch (order) {
    case ProductOrder::plain:
      return multiply_ab<ExecutionSpace, MemorySpace>(exec, left, right, result);
    case ProductOrder::left_transposed:
      return multiply_atb<ExecutionSpace, MemorySpace>(exec, left, right, result);
    case ProductOrder::right_transposed:
      return multiply_abt<ExecutionSpace, MemorySpace>(exec, left, right, result);
  }
}

/// The lower triangle of Xᵀ X, or of X Xᵀ where X has fewer rows than columns; of the upper triangle only the
/// part that lies in panels.
void gram_product(const ExecutionSpace& exec, const ReadMatrix& x, const WrittenMatrix& result) {
  using Kokkos::ALL;
  using Kokkos::subview;
  for_each_panel(result.extent(0), [&](const PanelRange& rows, const PanelRange& columns) {
    const WrittenMatrix panel = subview(result, rows, columns);
    if (x.extent(0) < x.extent(1)) {
      matrix_product(exec, ProductOrder::right_transposed, subview(x, rows, ALL), subview(x, columns, ALL),
                     panel);
    } else {
      matrix_product(exec, ProductOrder::left_transposed, subview(x, ALL, rows), subview(x, ALL, columns),
                     panel);
    }
  });
}

/// The same part of the product of two symmetric matrices that commute.
void symmetric_product(const ExecutionSpace& exec, const ReadMatrix& left, const ReadMatrix& right,
                       const WrittenMatrix& result) {
  using Kokkos::ALL;
  using Kokkos::subview;
  for_each_panel(left.extent(0), [&](const PanelRange& rows, const PanelRange& columns) {
    matrix_product(exec, ProductOrder::plain, subview(left, rows, ALL), subview(right, ALL, columns),
                   subview(result, rows, columns));
  });
}

/// Multiplications of a symmetric product whose elements are sums of `terms` terms.
double symmetric_multiplications(std::int64_t side, std::int64_t terms) {
  double sum = 0.0;
  for_each_panel(static_cast<std::size_t>(side), [&](const PanelRange& rows, const PanelRange& columns) {
    sum += static_cast<double>((rows.second - rows.first) * (columns.second - columns.first)) *
           static_cast<double>(terms);
  });
  return sum;
}

}  // namespace

NewtonSchulz::NewtonSchulz(const ExecutionSpace& exec, const std::vector<MatrixPlace>& places) {
  const Largest largest(places);
  x_ = allocate<float>(exec, "kadam::NewtonSchulz::x", largest.elements);
  next_ = allocate<float>(exec, "kadam::NewtonSchulz::next", largest.elements);
  gram_ = allocate<float>(exec, "kadam::NewtonSchulz::gram", largest.square());
  polynomial_ = allocate<float>(exec, "kadam::NewtonSchulz::polynomial", largest.square());
  factors_ = allocate<float>(exec, "kadam::NewtonSchulz::factors", largest.square());
  product_ = allocate<float>(exec, "kadam::NewtonSchulz::product", largest.square());
  squares_ = allocate<double>(exec, "kadam::NewtonSchulz::squares", nesterov_partial_sums(largest.elements));
  norm_factor_ = allocate<float>(exec, "kadam::NewtonSchulz::norm_factor", 1);
}

std::size_t NewtonSchulz::memory_bytes(const std::vector<MatrixPlace>& places) {
  const Largest largest(places);
  const auto floats = static_cast<std::size_t>(2 * largest.elements + 4 * largest.square() + 1);
  return floats * sizeof(float) +
         static_cast<std::size_t>(nesterov_partial_sums(largest.elements)) * sizeof(double);
}

double NewtonSchulz::multiplications(const std::vector<MatrixPlace>& places) {
  double sum = 0.0;
  for (const MatrixPlace& place : places) {
    const std::int64_t side = place.short_side();
    for (const int iterations : newton_schulz_stages) {
      sum += symmetric_multiplications(side, place.long_side());
      sum += (4.0 * iterations - 3.0) * symmetric_multiplications(side, side);
      sum += static_cast<double>(side) * static_cast<double>(place.elements());
    }
  }
  return sum;
}

Vector<const float> NewtonSchulz::direction(const ExecutionSpace& exec, const MatrixPlace& place,
                                            const Ema& first, float gradient_scale,
                                            const Numbers<MemorySpace>& gradient, const Vector<float>& m) {
  nesterov_direction(exec, place, first, gradient_scale, gradient, m, x_, squares_, norm_factor_);
  for (const int iterations : newton_schulz_stages) iterate(exec, place, iterations);
  return x_;
}

void NewtonSchulz::iterate(const ExecutionSpace& exec, const MatrixPlace& place, int iterations) {
  // P = a I + b A + c A²
  constexpr float a = 3.4445F;
  constexpr float b = -4.7750F;
  constexpr float c = 2.0315F;
  const std::int64_t side = place.short_side();
  const auto square = [side](const Vector<float>& values) { return row_major(values, side, side); };
  const auto multiply = [&](const Vector<float>& left, const Vector<float>& right) {
    symmetric_product(exec, square(left), square(right), square(product_));
  };
  const auto write = [&](const Vector<float>& out, const SymmetricSum& sum, const Vector<float>& first,
                         const Vector<float>& second) {
    add_symmetric(exec, side, sum, first, second, product_, out);
  };
  const WrittenMatrix x = row_major(x_, place.rows, place.columns);

  gram_product(exec, x, square(product_));
  write(gram_, {.z = 1.0F}, product_, product_);
  multiply(gram_, gram_);
  write(factors_, {.x = b, .z = c}, gram_, gram_);  // P - a I
  Vector<float> p = factors_;
  float power = a;  // factors_ + power I is the product of all P
  for (int k = 1; k < iterations; ++k) {
    multiply(p, p);
    write(polynomial_, {.x = 2.0F * a, .z = 1.0F}, p, p);  // P² - a² I
    multiply(gram_, polynomial_);
    write(gram_, {.x = a * a, .z = 1.0F}, gram_, gram_);
    multiply(gram_, gram_);
    p = polynomial_;
    write(p, {.x = b, .z = c}, gram_, gram_);
    multiply(factors_, p);
    const bool is_last = k + 1 == iterations;
    write(factors_, {.diagonal = is_last ? power * a : 0.0F, .x = a, .y = power, .z = 1.0F}, factors_, p);
    power *= a;
  }
  const WrittenMatrix next = row_major(next_, place.rows, place.columns);
  if (place.rows < place.columns) {
    matrix_product(exec, ProductOrder::plain, square(factors_), x, next);
  } else {
    matrix_product(exec, ProductOrder::plain, x, square(factors_), next);
  }
  std::swap(x_, next_);
}

}  // namespace kadam
