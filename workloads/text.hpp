// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/dataset.hpp>
#include <workloads/token_mask.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kadam::workloads {

struct TextOptions {
  std::int64_t context = 64;         ///< bytes of an example
  double held_out_fraction = 0.05;   ///< the last part of the file, not trained on; in [0, 1)
  std::string objective = "causal";  ///< causal: guess the next byte; masked: guess hidden ones
  double mask_fraction = 0.15;       ///< masked: part of the bytes of a window to be guessed; in (0, 1]
  std::uint64_t mask_seed = 1;       ///< masked: of the masks in training

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// A file as a sequence of bytes, cut into windows that do not overlap: example i predicts bytes
/// [i context + 1, (i + 1) context] from those one before them. No window crosses from the training part into
/// the held-out part.
///
/// masked: example i is bytes [i context, (i + 1) context), some of them hidden, see `TokenMask`: others in
/// each epoch, a pure function of (mask_seed, epoch, i); in the held-out part always the same.
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
  [[nodiscard]] std::span<const std::uint8_t> training_labels() const override { return {}; }
  void training_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices, std::int64_t epoch,
                      Batch& batch) const override;
  void held_out_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                      Batch& batch) const override;

 private:
  [[nodiscard]] std::int64_t windows(std::int64_t bytes) const {
    return bytes < 1 ? 0 : (bytes - 1) / options_.context;
  }
  [[nodiscard]] bool is_masked() const { return options_.objective == "masked"; }
  [[nodiscard]] std::span<const std::uint8_t> training_bytes() const {
    return std::span(bytes_).first(static_cast<std::size_t>(training_bytes_));
  }
  void gather(const ExecutionSpace& exec, const std::uint8_t* part, std::span<const std::int64_t> indices,
              Batch& batch) const;
  /// `stream`: of the masks.
  void gather_masked(const ExecutionSpace& exec, const std::uint8_t* part,
                     std::span<const std::int64_t> indices, std::uint64_t stream, Batch& batch) const;

  std::string name_;
  TextOptions options_;
  TokenMask mask_;
  std::vector<std::uint8_t> bytes_;
  std::int64_t training_bytes_ = 0;
};

}  // namespace kadam::workloads
