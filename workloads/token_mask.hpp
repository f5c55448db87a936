// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kadam::workloads {

/// Windows of text of which some tokens are hidden, one after the other.
struct MaskedWindows {
  std::vector<std::int32_t> tokens;     ///< what a model sees
  std::vector<std::int32_t> positions;  ///< places in `tokens` that it has to guess, ascending
  std::vector<std::int32_t> targets;    ///< what had been there
};

/// The mask of a masked language model (BERT: Devlin et al. 2018). Of the tokens of a window a fixed number
/// is chosen; of the chosen ones 80 % become `token`, 10 % another byte, 10 % stay as they are, so that a
/// model has to have an opinion on tokens that it sees too. The other byte is that at a random place of the
/// text: one that no text has, such as a control character, would be a second mask.
///
/// Worked number: 15 % of 64 tokens are 10.
class TokenMask {
 public:
  static constexpr std::int32_t token = 256;  ///< stands for a hidden byte

  TokenMask(std::int64_t context, double fraction);

  /// Chosen tokens per window: `fraction` of `context`, rounded, and at least 1.
  [[nodiscard]] std::int64_t chosen() const { return chosen_; }

  /// Appends `window` with its mask, a pure function of `stream`. `text`: where other bytes are taken from.
  void append(std::uint64_t stream, std::span<const std::uint8_t> window, std::span<const std::uint8_t> text,
              MaskedWindows& windows) const;

 private:
  std::int64_t chosen_;
};

}  // namespace kadam::workloads
