// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  reply,                 ///< the owner's code of the sum; per element of its chunk
  loco_mean,             ///< LoCo's sum; per element and message
  top_k_percent,         ///< the largest of every select block, about 1 % of them
  top_k_permille,        ///< about 0.1 %
  top_k_all_percent,     ///< the same of the whole vector at once
  top_k_all_permille,    ///< and about 0.1 %
  sparse_sum,            ///< per entry that came from any rank
  sparse_apply,          ///< per entry that came back from an owner
  first_of_codes,        ///< from here on those of each code: see encode_kernel()
};

/// A kernel as calibrations name it, and what it must move at least.
struct KernelFigures {
  Kernel kernel;
  std::string name;
  double bytes_per_element;
};
/// All of them, in the order of their numbers.
[[nodiscard]] const std::vector<KernelFigures>& kernel_figures();

/// The kernels of a code: encode_kernel("sign"). Errors: std::invalid_argument for a code that has none.
[[nodiscard]] Kernel encode_kernel(std::string_view code);       ///< with error feedback
[[nodiscard]] Kernel reduce_kernel(std::string_view code);       ///< the owner's sum; per element and message
[[nodiscard]] Kernel decode_kernel(std::string_view code);       ///< with the update
[[nodiscard]] Kernel loco_encode_kernel(std::string_view code);  ///< of uniform codes

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
  std::vector<double> seconds_ = std::vector<double>(kernel_figures().size());
};

}  // namespace kadam::plan
