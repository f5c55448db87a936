// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kadam::plan {

/// What algorithms compute, as far as a plan tells it apart: `elements` are those that a kernel walks over,
/// of messages the elements of all of them together.
enum class Kernel : std::uint8_t {
  check,                 ///< |g|^2: one read
  scale,                 ///< x in place: what else is written without being read elsewhere
  copy,                  ///< from one vector to another
  adam_update,           ///< dense Adam
  adam_update_half,      ///< from a gradient of 16 bits
  lamb_update,           ///< dense LAMB
  dense_mean,            ///< the owner's sum; per element and message
  accumulate_direction,  ///< moments, and the direction added to a residual
  local_step,            ///< 0/1 Adam between synchronisations
  onebit_lamb_update,    ///< what 1-bit LAMB does beside encoding and decoding
  encode_1,              ///< with error feedback
  encode_2,
  encode_4,
  encode_8,
  reduce_1,  ///< the owner's sum; per element and message
  reduce_2,
  reduce_4,
  reduce_8,
  reply,     ///< the owner's code of the sum; per element of its chunk
  decode_1,  ///< with the update
  decode_2,
  decode_4,
  decode_8,
  loco_encode_2,
  loco_encode_4,
  loco_encode_8,
  loco_mean,           ///< LoCo's sum; per element and message
  top_k_percent,       ///< the largest of every select block, about 1 % of them
  top_k_permille,      ///< about 0.1 %
  top_k_all_percent,   ///< the same of the whole vector at once
  top_k_all_permille,  ///< and about 0.1 %
  sparse_sum,          ///< per entry that came from any rank
  sparse_apply,        ///< per entry that came back from an owner
};
inline constexpr std::size_t kernel_count = static_cast<std::size_t>(Kernel::sparse_apply) + 1;

/// A kernel as calibrations name it, and what it must move at least.
struct KernelFigures {
  Kernel kernel;
  std::string_view name;
  double bytes_per_element;
};
[[nodiscard]] const std::array<KernelFigures, kernel_count>& kernel_figures();

/// The kernel of a code of so many bits: encode_kernel(4) is encode_4. Errors: std::invalid_argument for
/// other bits than 1, 2, 4, 8 (LoCo: 2, 4, 8).
[[nodiscard]] Kernel encode_kernel(std::int64_t bits);
[[nodiscard]] Kernel reduce_kernel(std::int64_t bits);
[[nodiscard]] Kernel decode_kernel(std::int64_t bits);
[[nodiscard]] Kernel loco_encode_kernel(std::int64_t bits);

/// Seconds per element of every kernel on one rank, while the other ranks of its node compute, too.
class KernelCosts {
 public:
  /// Of a machine of which only the memory is known: every kernel at the speed of its bytes. Worked number:
  /// 100 GB/s: Adam's update of 28 B takes 0.28 ns per element. Errors: std::invalid_argument unless > 0.
  [[nodiscard]] static KernelCosts at_memory_speed(double bytes_per_second);

  /// Errors: std::invalid_argument unless finite and not negative.
  void set(Kernel kernel, double seconds_per_element);
  [[nodiscard]] double per_element(Kernel kernel) const { return seconds_[static_cast<std::size_t>(kernel)]; }

 private:
  std::array<double, kernel_count> seconds_{};
};

}  // namespace kadam::plan
