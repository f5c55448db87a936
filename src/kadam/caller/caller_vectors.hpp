// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/optim/optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

// What an optimizer takes, made of pointers that other languages hand over.

namespace kadam::caller {

/// An array of the caller for kernels: itself, or a copy where they cannot reach it.
///
/// copies: whether it is copied; then so are both ways, on exec, and the caller's array must not be touched
/// until exec is done. The copy's memory is kept for the next call.
class CallerArray {
 public:
  CallerArray(std::string label, bool copies) : label_(std::move(label)), copies_(copies) {}

  void set_copies(bool copies) { copies_ = copies; }

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

/// Parameters of a caller, with their rounded model if there is one.
class CallerParameters {
 public:
  /// label: begins the names of copies. copied: whether kernels cannot reach the parameters.
  CallerParameters(const std::string& label, std::int64_t elements, bool copied);

  void set_copied(bool copied) { master_.set_copies(copied); }

  /// From now on a model of bfloat16 or float16 goes with them; nullptr: none.
  void set_model(void* numbers, NumberFormat format, bool copied);

  /// With the caller's values, or to be written from scratch.
  [[nodiscard]] Parameters in(const ExecutionSpace& exec, float* parameters);
  [[nodiscard]] Parameters out(const ExecutionSpace& exec, float* parameters);
  /// Gives the caller what was written, and the model with it. What was copied is there when exec is done.
  void give_back(const ExecutionSpace& exec, const Parameters& written, float* parameters);

 private:
  /// use(numbers): the caller's model, as the numbers it consists of.
  template <class Use>
  auto in_model_format(const Use& use) const;
  [[nodiscard]] Parameters with_model(const ExecutionSpace& exec, const Vector<float>& master);

  std::int64_t elements_;
  CallerArray master_;
  CallerArray model_;
  void* model_numbers_ = nullptr;
  NumberFormat model_format_ = NumberFormat::bfloat16;
};

/// A caller's gradient in an optimizer's format; array holds its copy if kernels cannot reach it.
[[nodiscard]] Gradient gradient_in(const ExecutionSpace& exec, CallerArray& array, const void* numbers,
                                   NumberFormat format, std::int64_t elements);

}  // namespace kadam::caller
