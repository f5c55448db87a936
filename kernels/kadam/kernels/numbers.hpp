// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/number_format.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace kadam {

/// A flat View of one of the formats, in a memory space.
template <class View, class MemorySpace>
concept ViewOfNumbers = Kokkos::is_view_v<View> && Number<typename View::non_const_value_type> &&
    std::is_convertible_v<const View&, Kokkos::View<const typename View::non_const_value_type*, MemorySpace>>;

/// A read-only vector of numbers whose format is known only at run time: a View of float, Bfloat16 or
/// Float16, and which of these it is.
///
/// Such a View converts to Numbers implicitly. visit() chooses one of three kernels on the host;
/// with_format() chooses inside a kernel, for a block or tile at a time, so that a large kernel need not
/// exist three times.
template <class MemorySpace>
class Numbers {
 public:
  template <class T>
  using Elements = Kokkos::View<const T*, MemorySpace>;

  Numbers() = default;
  template <ViewOfNumbers<MemorySpace> View>
  Numbers(const View& values) : format_(format_of<typename View::non_const_value_type>) {
    using T = typename View::non_const_value_type;
    if constexpr (std::is_same_v<T, float>) float32_ = values;
    if constexpr (std::is_same_v<T, Bfloat16>) bfloat16_ = values;
    if constexpr (std::is_same_v<T, Float16>) float16_ = values;
  }

  [[nodiscard]] NumberFormat format() const { return format_; }
  [[nodiscard]] std::int64_t elements() const {
    std::int64_t count = 0;
    visit([&](const auto& values) { count = static_cast<std::int64_t>(values.extent(0)); });
    return count;
  }
  /// The numbers [begin, end), in the same memory.
  [[nodiscard]] Numbers part(std::int64_t begin, std::int64_t end) const {
    Numbers numbers;
    visit([&](const auto& values) { numbers = Kokkos::subview(values, Kokkos::make_pair(begin, end)); });
    return numbers;
  }
  /// The label of the View.
  [[nodiscard]] std::string label() const {
    std::string text;
    visit([&](const auto& values) { text = values.label(); });
    return text;
  }

  /// Calls function(View of the elements) on the host.
  template <class Function>
  void visit(const Function& function) const {
    if (format_ == NumberFormat::bfloat16) {
      function(bfloat16_);
    } else if (format_ == NumberFormat::float16) {
      function(float16_);
    } else {
      function(float32_);
    }
  }

  /// Calls function(View of the elements) in a kernel.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void with_format(const Function& function) const {
    if (format_ == NumberFormat::bfloat16) {
      function(bfloat16_);
    } else if (format_ == NumberFormat::float16) {
      function(float16_);
    } else {
      function(float32_);
    }
  }

  /// Element i in float32. Branches on the format: for places where a loop for each format is not worth it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i) const {
    if (format_ == NumberFormat::bfloat16) return to_float(bfloat16_(i));
    if (format_ == NumberFormat::float16) return to_float(float16_(i));
    return float32_(i);
  }

 private:
  NumberFormat format_ = NumberFormat::float32;
  Elements<float> float32_;
  Elements<Bfloat16> bfloat16_;
  Elements<Float16> float16_;
};

/// f(i, ...) = rule(number i, i, ...): an input that a kernel takes element by element, and that a rule
/// computes from numbers.
template <class MemorySpace, class Rule>
struct OfNumbers {
  Numbers<MemorySpace> numbers;
  Rule rule;

  template <class... Rest>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i, const Rest... rest) const {
    return rule(numbers(i), i, rest...);
  }
  /// Prefetches `count` numbers from `first` on.
  KOKKOS_FORCEINLINE_FUNCTION void prefetch(std::int64_t first, std::int64_t count) const {
    numbers.with_format([&](const auto& values) { detail::prefetch_stream(values.data() + first, count); });
  }
  /// Calls function with an f(i, ...) of the format at hand, which does not branch.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void with_format(const Function& function) const {
    numbers.with_format([&](const auto& values) {
      // Local copies: for the compiler, a store of a float might change any member.
      function([data = values.data(), known = rule](const std::int64_t i, const auto... rest) {
        return known(to_float(data[i]), i, rest...);
      });
    });
  }
};

namespace detail {

struct ScaleNumbers {
  float factor;
  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const T& value, float& out) const {
    out = factor * to_float(value);
  }
};

}  // namespace detail

/// out(i) = factor times number i; with factor 1, the numbers in float32. Shape: both of the same length.
/// Memory: 8 B per element, 6 B from 16 bits.
template <class Exec, class MemorySpace>
void scale_numbers(const Exec& exec, float factor, const Numbers<MemorySpace>& numbers,
                   const Kokkos::View<float*, MemorySpace>& out) {
  numbers.visit([&](const auto& values) {
    for_each_element("kadam::scale_numbers", exec, static_cast<std::int64_t>(out.extent(0)),
                     detail::ScaleNumbers{factor}, reads(values), writes(out));
  });
}

}  // namespace kadam
