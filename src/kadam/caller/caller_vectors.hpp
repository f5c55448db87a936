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

/// Views for an optimizer, of the arrays to which other languages pass pointers.
namespace kadam::caller {

/// An array of the caller as kernels use it: the array itself, or a copy if kernels cannot reach it.
///
/// copies: whether kernels work on a copy. If so, in() copies to it and give_back() from it, on exec, and the
/// caller's array must not be touched until exec is done. The memory of the copy is kept for the next call.
/// label: the name of that memory.
class CallerArray {
 public:
  CallerArray(std::string label, bool copies) : label_(std::move(label)), copies_(copies) {}

  void set_copies(bool copies) { copies_ = copies; }

  /// A View for kernels, with the caller's values.
  template <class T>
  [[nodiscard]] Vector<T> in(const ExecutionSpace& exec, T* data, std::int64_t elements) {
    const Vector<T> view = out(exec, data, elements);
    if (copies_) Kokkos::deep_copy(exec, view, on_host(data, elements));
    return view;
  }
  /// A View for kernels to write; a copy holds any values before.
  template <class T>
  [[nodiscard]] Vector<T> out(const ExecutionSpace& exec, T* data, std::int64_t elements) {
    if (!copies_) return Vector<T>(data, static_cast<std::size_t>(elements));
    const auto bytes = static_cast<std::int64_t>(sizeof(T)) * elements;
    if (static_cast<std::int64_t>(copy_.extent(0)) < bytes) copy_ = allocate<std::byte>(exec, label_, bytes);
    return Vector<T>(reinterpret_cast<T*>(copy_.data()), static_cast<std::size_t>(elements));
  }
  /// Copies what kernels wrote to the View back to the caller, if they work on a copy.
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

/// The parameters of a caller, and their model in 16 bits if there is one.
class CallerParameters {
 public:
  /// label: begins the names of copies. copied: whether kernels work on a copy, since they cannot reach the
  /// parameters.
  CallerParameters(const std::string& label, std::int64_t elements, bool copied);

  void set_copied(bool copied) { master_.set_copies(copied); }

  /// From now on a model goes with the parameters: as many numbers, bfloat16 or float16 as format says;
  /// nullptr: none. copied: as of the parameters.
  void set_model(void* numbers, NumberFormat format, bool copied);

  /// Views for kernels. in(): with the caller's values; out(): to be written from scratch.
  [[nodiscard]] Parameters in(const ExecutionSpace& exec, float* parameters);
  [[nodiscard]] Parameters out(const ExecutionSpace& exec, float* parameters);
  /// Copies what kernels wrote, parameters and model, back to the caller where they work on copies; complete
  /// when exec is done.
  void give_back(const ExecutionSpace& exec, const Parameters& written, float* parameters);

 private:
  /// Returns use(numbers), where numbers points to the caller's model in its type, Float16 or Bfloat16.
  template <class Use>
  auto in_model_format(const Use& use) const;
  [[nodiscard]] Parameters with_model(const ExecutionSpace& exec, const Vector<float>& master);

  std::int64_t elements_;
  CallerArray master_;
  CallerArray model_;
  void* model_numbers_ = nullptr;
  NumberFormat model_format_ = NumberFormat::bfloat16;
};

/// A View of a caller's gradient in this format; `array` holds its copy if kernels cannot reach it.
[[nodiscard]] Gradient gradient_in(const ExecutionSpace& exec, CallerArray& array, const void* numbers,
                                   NumberFormat format, std::int64_t elements);

}  // namespace kadam::caller
