// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>
#include <workloads/dataset.hpp>

namespace kadam::workloads {

struct TextOptions {
  std::int64_t context = 64;        ///< bytes of an example
  double held_out_fraction = 0.05;  ///< the last part of the file, not trained on; in [0, 1)

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// A file as a sequence of bytes, cut into windows that do not overlap: example i predicts bytes
/// [i context + 1, (i + 1) context] from those one before them. No window crosses from the training part into
/// the held-out part.
class TextDataset final : public Dataset {
 public:
  /// Reads any file, plain or compressed with gzip (.gz, .dz).
  /// Errors: std::runtime_error when it cannot be read or is too short for one example of each kind.
  TextDataset(const std::filesystem::path& path, const TextOptions& options);

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] DataShape shape() const override;
  [[nodiscard]] std::int64_t training_examples() const override { return windows(training_bytes_); }
  [[nodiscard]] std::int64_t held_out_examples() const override {
    return windows(static_cast<std::int64_t>(bytes_.size()) - training_bytes_);
  }
  void training_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                      Batch& batch) const override;
  void held_out_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                      Batch& batch) const override;

 private:
  [[nodiscard]] std::int64_t windows(std::int64_t bytes) const {
    return bytes < 1 ? 0 : (bytes - 1) / options_.context;
  }
  void gather(const ExecutionSpace& exec, const std::uint8_t* part, std::span<const std::int64_t> indices,
              Batch& batch) const;

  std::string name_;
  TextOptions options_;
  std::vector<std::uint8_t> bytes_;
  std::int64_t training_bytes_ = 0;
};

}  // namespace kadam::workloads
