// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace kadam::caller {

/// An array of the caller for kernels: itself, or a copy where they cannot reach it.
///
/// copies: whether it is copied; then so are both ways, on exec, and the caller's array must not be touched
/// until exec is done.
class CallerArray {
 public:
  CallerArray(std::string label, bool copies) : label_(std::move(label)), copies_(copies) {}

  /// The elements, with the caller's values.
  template <class T>
  [[nodiscard]] Vector<T> in(const ExecutionSpace& exec, T* data, std::int64_t elements) {
    const Vector<T> view = out(exec, data, elements);
    if (copies_) Kokkos::deep_copy(exec, view, on_host(data, elements));
    return view;
  }
  /// The elements, to be written.
  template <class T>
  [[nodiscard]] Vector<T> out(const ExecutionSpace& exec, T* data, std::int64_t elements) {
    if (!copies_) return Vector<T>(data, static_cast<std::size_t>(elements));
    const auto bytes = static_cast<std::int64_t>(sizeof(T)) * elements;
    if (static_cast<std::int64_t>(copy_.extent(0)) < bytes) copy_ = allocate<std::byte>(exec, label_, bytes);
    return Vector<T>(reinterpret_cast<T*>(copy_.data()), static_cast<std::size_t>(elements));
  }
  /// Gives the caller what was written.
  template <class T>
  void give_back(const ExecutionSpace& exec, const Vector<T>& view, T* data) const {
    if (copies_) Kokkos::deep_copy(exec, on_host(data, static_cast<std::int64_t>(view.extent(0))), view);
  }

 private:
  template <class T>
  static auto on_host(T* data, std::int64_t elements) {
    return Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(data,
                                                                        static_cast<std::size_t>(elements));
  }

  std::string label_;
  bool copies_;
  Vector<std::byte> copy_;
};

}  // namespace kadam::caller
