// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <plan/kernel_costs.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace kadam::plan {

const std::vector<Kernel>& calibrated_kernels() {
  static const std::vector<Kernel> kernels = [] {
    std::vector<Kernel> all(cost::plain_kernels.begin(), cost::plain_kernels.end());
    for_each_code([&](const auto& code) {
      for (const auto& of_code : {cost::encode, cost::reduce, cost::decode})
        all.push_back(of_code(code.name, code.bits));
    });
    for_each_code<UniformCode>(
        [&](const auto& code) { all.push_back(cost::loco_encode(code.name, code.bits)); });
    return all;
  }();
  return kernels;
}

KernelCosts KernelCosts::at_memory_speed(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second) || bytes_per_second <= 0.0) {
    throw std::invalid_argument("kadam::plan::KernelCosts: expected bytes per second, more than 0, got " +
                                std::to_string(bytes_per_second));
  }
  KernelCosts costs;
  costs.seconds_per_byte_ = 1.0 / bytes_per_second;
  return costs;
}

void KernelCosts::set(const Kernel& kernel, double seconds_per_element) {
  if (!std::isfinite(seconds_per_element) || seconds_per_element < 0.0) {
    std::string text = "kadam::plan::KernelCosts: ";
    text.append(kernel.name()).append(": expected seconds per element, 0 or more, got ");
    throw std::invalid_argument(text.append(std::to_string(seconds_per_element)));
  }
  seconds_[kernel.name()] = seconds_per_element;
}

void KernelCosts::take_others_as(const Kernel& kernel) {
  seconds_per_byte_ = seconds_.at(kernel.name()) / kernel.bytes_per_element;
}

double KernelCosts::per_element(const Kernel& kernel) const {
  const auto found = seconds_.find(kernel.name());
  return found != seconds_.end() ? found->second : kernel.bytes_per_element * seconds_per_byte_;
}

}  // namespace kadam::plan
