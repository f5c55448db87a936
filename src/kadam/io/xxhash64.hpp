// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kadam::io {

/// XXH64 with seed 0 (Collet 2014), bytes as they come: tells a file that was changed by accident, at the
/// speed of memory. `xxhsum -H1` prints the same. No protection against malice.
class XxHash64 {
 public:
  void add(std::span<const std::byte> bytes);
  /// Of all that was added.
  [[nodiscard]] std::uint64_t value() const;

 private:
  static constexpr std::uint64_t prime_1 = 0x9E3779B185EBCA87U;
  static constexpr std::uint64_t prime_2 = 0xC2B2AE3D27D4EB4FU;
  static constexpr std::size_t stripe_bytes = 32;

  void add_stripe(const std::byte* stripe);

  std::array<std::uint64_t, 4> lanes_ = {prime_1 + prime_2, prime_2, 0, 0 - prime_1};
  std::array<std::byte, stripe_bytes> rest_{};
  std::size_t rest_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace kadam::io
