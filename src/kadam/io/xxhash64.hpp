// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kadam::io {

/// The hash XXH64 with seed 0 (Collet 2014) of bytes that are added one after the other. It finds files that
/// were changed by accident, at the speed of memory, and does not protect against malice. `xxhsum -H1` prints
/// the same number.
class XxHash64 {
 public:
  void add(std::span<const std::byte> bytes);
  /// The hash of all bytes that were added so far.
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
