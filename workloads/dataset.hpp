// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/model.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace kadam::workloads {

/// Examples that can be fetched by index. Training and held-out examples are disjoint.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// One line for the banner: what, how many, where from.
  [[nodiscard]] virtual std::string description() const = 0;
  /// What one example looks like: what a model is made for.
  [[nodiscard]] virtual DataShape shape() const = 0;
  [[nodiscard]] virtual std::int64_t training_examples() const = 0;
  [[nodiscard]] virtual std::int64_t held_out_examples() const = 0;
  /// The class of each training example; empty where examples have none, as in text.
  [[nodiscard]] virtual std::span<const std::uint8_t> training_labels() const = 0;

  /// Fills `batch` with the named examples. Reuses the batch's storage when it has the right size; kernels on
  /// `exec` find it there, those on another instance have to wait for `exec`. What is drawn anew each time an
  /// example comes, such as its mask, is a pure function of example and `epoch`; held-out examples are always
  /// the same.
  virtual void training_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                              std::int64_t epoch, Batch& batch) const = 0;
  virtual void held_out_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                              Batch& batch) const = 0;
};

/// Errors: std::out_of_range when an index is not in [0, examples).
inline void require_indices(const char* what, std::span<const std::int64_t> indices, std::int64_t examples) {
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= examples) {
      throw std::out_of_range("kadam::workloads: " + std::string(what) + " example " + std::to_string(index) +
                              " was asked for, expected one of 0 to " + std::to_string(examples - 1));
    }
  }
}

}  // namespace kadam::workloads
