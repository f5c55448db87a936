// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/cost/kernels.hpp>

#include <map>
#include <string>
#include <vector>

namespace kadam::plan {

/// The kernels that a calibration has: all of kadam/cost, and those of each code.
[[nodiscard]] const std::vector<Kernel>& calibrated_kernels();

/// Seconds per element of every kernel on one rank, while the other ranks of its node compute, too.
class KernelCosts {
 public:
  /// Of a machine of which only the memory is known: every kernel at the speed of its bytes. Worked number:
  /// 100 GB/s: Adam's update of 28 B takes 0.28 ns per element. Errors: std::invalid_argument unless > 0.
  [[nodiscard]] static KernelCosts at_memory_speed(double bytes_per_second);

  /// Errors: std::invalid_argument unless finite and not negative.
  void set(const Kernel& kernel, double seconds_per_element);
  /// Kernels that are not set take as long per byte as this one, which is.
  void take_others_as(const Kernel& kernel);
  [[nodiscard]] double per_element(const Kernel& kernel) const;

 private:
  std::map<std::string, double> seconds_;
  double seconds_per_byte_ = 0.0;  ///< of kernels that are not set
};

}  // namespace kadam::plan
