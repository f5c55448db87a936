// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/number_format.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// A copy of float32 numbers, rounded to 16 bits, that a kernel writes beside them; or no copy, if
/// default-constructed.
///
/// Does not own its memory: the View of the constructor must outlive it.
template <class MemorySpace>
class HalfCopy {
 public:
  HalfCopy() = default;
  explicit HalfCopy(const Kokkos::View<Bfloat16*, MemorySpace>& target)
      : bits_(reinterpret_cast<std::uint16_t*>(target.data()), target.extent(0)) {}
  explicit HalfCopy(const Kokkos::View<Float16*, MemorySpace>& target)
      : bits_(reinterpret_cast<std::uint16_t*>(target.data()), target.extent(0)),
        format_(NumberFormat::float16) {}

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION NumberFormat format() const { return format_; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool exists() const { return bits_.data() != nullptr; }

  /// Calls function(View of the copy) if there is a copy, else otherwise(). On the host alone.
  template <class Function, class Otherwise>
  void visit(const Function& function, const Otherwise& otherwise) const {
    if (!exists()) {
      otherwise();
    } else if (format_ == NumberFormat::float16) {
      function(view_of<Float16>());
    } else {
      function(view_of<Bfloat16>());
    }
  }
  /// Element i <- value, rounded to T, which must be the format of the copy.
  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void write_as(const std::int64_t i, const float value) const {
    bits_(i) = round_to<T>(value).bits;
  }
  /// Element i <- value, rounded, if there is a copy. For code that is not worth a loop for each format.
  KOKKOS_FORCEINLINE_FUNCTION void write(const std::int64_t i, const float value) const {
    if (!exists()) return;
    if (format_ == NumberFormat::float16) {
      write_as<Float16>(i, value);
    } else {
      write_as<Bfloat16>(i, value);
    }
  }

 private:
  template <Number T>
  [[nodiscard]] auto view_of() const {
    using View = Kokkos::View<T*, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    return View(reinterpret_cast<T*>(bits_.data()), bits_.extent(0));
  }

  Kokkos::View<std::uint16_t*, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> bits_;
  NumberFormat format_ = NumberFormat::bfloat16;
};

/// Wraps an update of x(i): calls it, and writes the new x(i) into the copy, if there is one, in the same
/// pass.
///
/// Update: has a View x, and a call operator and inactive() as decode_and_apply() wants them.
template <class MemorySpace, class Update>
struct WithCopy {
  Update update;
  HalfCopy<MemorySpace> copy;

  template <class... Rule>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float value,
                                              const Rule&... rule) const {
    update(i, value, rule...);
    copy.write(i, update.x(i));
  }
  /// Calls function(update) if there is no copy, else function(an update that also writes the copy, with its
  /// format known to the compiler).
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void with_format(const Function& function) const {
    if (!copy.exists()) {
      function(update);
    } else if (copy.format() == NumberFormat::float16) {
      function(Both<Float16>{*this});
    } else {
      function(Both<Bfloat16>{*this});
    }
  }

 private:
  template <class T>
  struct Both {
    const WithCopy& both;
    template <class... Rule>
    KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float value,
                                                const Rule&... rule) const {
      both.update(i, value, rule...);
      both.copy.template write_as<T>(i, both.update.x(i));
    }
    template <class... Rule>
    KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i, const Rule&... rule) const {
      both.update.inactive(i, rule...);
      both.copy.template write_as<T>(i, both.update.x(i));
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION auto load(const std::int64_t i) const requires
        requires(const Update& known) {
      known.load(std::int64_t{});
    }
    { return both.update.load(i); }
    template <class... RuleAndLoaded>
    KOKKOS_FORCEINLINE_FUNCTION void store(const std::int64_t i, const float value,
                                           const RuleAndLoaded&... rule_and_loaded) const {
      both.update.store(i, value, rule_and_loaded...);
      both.copy.template write_as<T>(i, both.update.x(i));
    }
  };
};

namespace detail {

struct RoundInto {
  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& value, T& copy) const {
    copy = round_to<T>(value);
  }
};

}  // namespace detail

/// Element i of the copy <- values(i), rounded; nothing if there is no copy. Shape: both of the same length.
/// Memory: 6 B per element.
template <class Exec, class MemorySpace>
void write_copy(const Exec& exec, const Kokkos::View<const float*, MemorySpace>& values,
                const HalfCopy<MemorySpace>& copy) {
  copy.visit(
      [&](const auto& half) {
        for_each_element("kadam::write_copy", exec, static_cast<std::int64_t>(values.extent(0)),
                         detail::RoundInto{}, reads(values), writes(half));
      },
      [] {});
}

}  // namespace kadam
