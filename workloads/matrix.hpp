// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <cstddef>
#include <cstdint>

namespace kadam::workloads {

/// A row-major matrix in memory that it does not own: a tensor of the parameter vector, or part of an Arena.
/// If all matrices are row-major, KokkosBlas::gemm passes them to the vendor's BLAS without a copy.
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Elements [offset, offset + rows * columns) of `vector`, seen as a matrix.
template <class T>
[[nodiscard]] Matrix<T> matrix_at(const Vector<T>& vector, std::int64_t offset, std::int64_t rows,
                                  std::int64_t columns) {
  return Matrix<T>(vector.data() + offset, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
}

/// The same elements as a matrix of another shape and equal size.
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

/// One allocation from which a model carves its activations. It grows and never shrinks, so a batch no larger
/// than earlier ones allocates nothing. An allocation invalidates all matrices carved before.
///
/// Memory: 4 B per element, each matrix rounded up to 64 B.
class Arena {
 public:
  /// Calls `carve(*this)` twice: first to count elements, with null pointers, then, after an allocation if
  /// one is needed, to hand them out.
  template <class Carve>
  void lay_out(const ExecutionSpace& exec, const Carve& carve) {
    base_ = nullptr;
    used_elements_ = 0;
    carve(*this);
    if (used_elements_ > storage_.extent(0)) {
      storage_ = Vector<float>();
      storage_ =
          allocate<float>(exec, "kadam::workloads::activations", static_cast<std::int64_t>(used_elements_));
    }
    base_ = storage_.data();
    used_elements_ = 0;
    carve(*this);
  }

  /// The next `rows` x `columns` elements, not initialised. Only within `carve`.
  [[nodiscard]] Matrix<float> matrix(std::int64_t rows, std::int64_t columns) {
    float* const begin = take(rows * columns);
    return Matrix<float>(begin, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  }

  /// The next elements as integers. Only within `carve`.
  [[nodiscard]] std::int32_t* integers(std::int64_t elements) {
    return reinterpret_cast<std::int32_t*>(take(elements));
  }

 private:
  float* take(std::int64_t elements) {
    constexpr std::size_t alignment_elements = 16;
    float* const begin = base_ == nullptr ? nullptr : base_ + used_elements_;
    used_elements_ += (static_cast<std::size_t>(elements) + alignment_elements - 1) / alignment_elements *
                      alignment_elements;
    return begin;
  }

  Vector<float> storage_;
  float* base_ = nullptr;
  std::size_t used_elements_ = 0;
};

}  // namespace kadam::workloads
