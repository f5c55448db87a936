// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/row.hpp>
#include <workloads/model.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace kadam::workloads {

/// Fills the vectors of a batch from the host. The constructor waits for `exec`, whose kernels may still read
/// the batch and whose copies its staging memory. Later copies are enqueued on `exec`. Refers to `exec` and
/// `batch`.
class BatchFill {
 public:
  BatchFill(const ExecutionSpace& exec, Batch& batch, std::size_t examples) : exec_(exec), batch_(batch) {
    exec.fence("kadam::workloads::BatchFill");
    batch.examples = static_cast<std::int64_t>(examples);
  }

  /// fill(data) writes `elements` elements, on the host; they become this vector of the batch. Likewise
  /// below.
  template <class Fill>
  void images(std::size_t elements, const Fill& fill) const {
    write("kadam::workloads::images", elements, batch_.images, batch_.staging.images, fill);
  }
  template <class Fill>
  void tokens(std::size_t elements, const Fill& fill) const {
    write("kadam::workloads::tokens", elements, batch_.tokens, batch_.staging.tokens, fill);
  }
  template <class Fill>
  void positions(std::size_t elements, const Fill& fill) const {
    write("kadam::workloads::positions", elements, batch_.positions, batch_.staging.positions, fill);
  }
  template <class Fill>
  void targets(std::size_t elements, const Fill& fill) const {
    write("kadam::workloads::targets", elements, batch_.targets, batch_.staging.targets, fill);
  }

 private:
  template <class T, class Fill>
  void write(const std::string& label, std::size_t elements, Vector<T>& target,
             BatchStaging::Pinned<T>& staged, const Fill& fill) const {
    if (target.extent(0) != elements) {
      target = allocate<T>(exec_, label, static_cast<std::int64_t>(elements));
    }
    if constexpr (one_thread_per_row) {
      fill(target.data());
    } else {
      if (staged.extent(0) != elements) {
        staged = BatchStaging::Pinned<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), elements);
      }
      fill(staged.data());
      Kokkos::deep_copy(exec_, target, staged);
    }
  }

  const ExecutionSpace& exec_;
  Batch& batch_;
};

}  // namespace kadam::workloads
