// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/dataset.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace kadam::workloads {

/// Windows of text with hidden tokens, one window after the other.
struct MaskedWindows {
  std::vector<std::int32_t> tokens;     ///< the model's input
  std::vector<std::int32_t> positions;  ///< indices in `tokens` that it has to guess, ascending
  std::vector<std::int32_t> targets;    ///< the bytes at these places
};

/// The mask of a masked language model (BERT: Devlin et al. 2018). It chooses a fixed number of a window's
/// tokens. Of these 80 % become `token`, 10 % another byte, and 10 % stay, so that a model has to predict
/// tokens that it sees, too. The other byte comes from a random place of the text: a byte that no text has,
/// such as a control character, would be a second mask.
///
/// Worked number: 15 % of 64 tokens are 10.
class TokenMask {
 public:
  static constexpr std::int32_t token = 256;  ///< stands for a hidden byte

  TokenMask(std::int64_t context, double fraction);

  /// Chosen tokens per window: `fraction` of `context`, rounded, and at least 1.
  [[nodiscard]] std::int64_t chosen() const { return chosen_; }

  /// Appends `window` with its mask, a pure function of `stream`. text: source of the other bytes.
  void append(std::uint64_t stream, std::span<const std::uint8_t> window, std::span<const std::uint8_t> text,
              MaskedWindows& windows) const;

 private:
  std::int64_t chosen_;
};

struct TextOptions {
  std::int64_t context = 64;         ///< bytes of an example
  double held_out_fraction = 0.05;   ///< the last part of the file, not trained on; in [0, 1)
  std::string objective = "causal";  ///< causal: guess the next byte; masked: guess hidden ones
  double mask_fraction = 0.15;       ///< masked: part of the bytes of a window to be guessed; in (0, 1]
  std::uint64_t mask_seed = 1;       ///< masked: seed of the masks in training

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// A file as a sequence of bytes, cut into windows that do not overlap: example i predicts each of the bytes
/// [i context + 1, (i + 1) context] from the bytes before it in its window. No window crosses from the
/// training part into the held-out part.
///
/// masked: example i is bytes [i context, (i + 1) context), some of them hidden by TokenMask. The mask is a
/// pure function of (mask_seed, epoch, i); in the held-out part it is always the same.
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
  /// stream: random stream of the masks.
  void gather_masked(const ExecutionSpace& exec, const std::uint8_t* part,
                     std::span<const std::int64_t> indices, std::uint64_t stream, Batch& batch) const;

  std::string name_;
  TextOptions options_;
  TokenMask mask_;
  std::vector<std::uint8_t> bytes_;
  std::int64_t training_bytes_ = 0;
};

}  // namespace kadam::workloads
