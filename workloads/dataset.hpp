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

  /// One line for the banner: kind, number and origin of the examples.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Shape of one example, for which a model is made.
  [[nodiscard]] virtual DataShape shape() const = 0;
  [[nodiscard]] virtual std::int64_t training_examples() const = 0;
  [[nodiscard]] virtual std::int64_t held_out_examples() const = 0;
  /// The class of each training example; empty where examples have none, as in text.
  [[nodiscard]] virtual std::span<const std::uint8_t> training_labels() const = 0;

  /// Fills `batch` with the examples of these indices. Reuses the batch's storage if it has the right size.
  /// Later kernels on `exec` may use the batch; those on other instances have to wait for `exec`. Random
  /// parts of an example, such as its mask, are a pure function of example and `epoch`; held-out examples
  /// never change.
  virtual void training_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                              std::int64_t epoch, Batch& batch) const = 0;
  virtual void held_out_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                              Batch& batch) const = 0;
};

/// Checks indices. what: kind of the examples, for the message. Errors: std::out_of_range when an index is
/// not in [0, examples).
inline void require_indices(const char* what, std::span<const std::int64_t> indices, std::int64_t examples) {
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= examples) {
      throw std::out_of_range("kadam::workloads: " + std::string(what) + " example " + std::to_string(index) +
                              " does not exist, expected one of 0 to " + std::to_string(examples - 1));
    }
  }
}

}  // namespace kadam::workloads
