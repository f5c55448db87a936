// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <cstddef>
#include <cstdint>

namespace kadam::workloads {

/// A row-major matrix in somebody else's memory: a tensor of the parameter vector, or part of an Arena.
/// Row-major on all sides is what KokkosBlas::gemm hands to the vendor's BLAS without a copy.
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Elements [offset, offset + rows * columns) of `vector`, seen as a matrix.
template <class T>
[[nodiscard]] Matrix<T> matrix_at(const Vector<T>& vector, std::int64_t offset, std::int64_t rows,
                                  std::int64_t columns) {
  return Matrix<T>(vector.data() + offset, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}

/// The same elements in another shape of equal size.
template <class T>
[[nodiscard]] Matrix<T> reshaped(const Matrix<T>& matrix, std::int64_t rows, std::int64_t columns) {
  return Matrix<T>(matrix.data(), static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}

template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t rows_of(const Matrix<T>& matrix) {
  return static_cast<std::int64_t>(matrix.extent(0));
}

template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t columns_of(const Matrix<T>& matrix) {
  return static_cast<std::int64_t>(matrix.extent(1));
}

}  // namespace kadam::workloads
