// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/plan/kernel_costs.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace kadam::plan {
namespace {

/// Where the kernel for these bits stands behind the one for the fewest.
Kernel of_bits(Kernel first, std::int64_t bits, std::int64_t fewest) {
  int place = 0;
  for (std::int64_t b = fewest; b <= 8; b *= 2, ++place) {
    if (b == bits) return static_cast<Kernel>(static_cast<int>(first) + place);
  }
  throw std::invalid_argument("kadam::plan: there is no code of " + std::to_string(bits) + " bits here");
}

}  // namespace

const std::array<KernelFigures, kernel_count>& kernel_figures() {
  static const std::array<KernelFigures, kernel_count> figures = {{
      {Kernel::check, "check", 4.0},
      {Kernel::scale, "scale", 8.0},
      {Kernel::copy, "copy", 8.0},
      {Kernel::adam_update, "adam_update", 28.0},
      {Kernel::adam_update_half, "adam_update_half", 26.0},
      {Kernel::lamb_update, "lamb_update", 40.0},
      {Kernel::dense_mean, "dense_mean", 5.0},
      {Kernel::accumulate_direction, "accumulate_direction", 28.0},
      {Kernel::local_step, "local_step", 36.0},
      {Kernel::onebit_lamb_update, "onebit_lamb_update", 48.0},
      {Kernel::encode_1, "encode_1", 12.25},
      {Kernel::encode_2, "encode_2", 12.5},
      {Kernel::encode_4, "encode_4", 13.0},
      {Kernel::encode_8, "encode_8", 14.0},
      {Kernel::reduce_1, "reduce_1", 0.13},
      {Kernel::reduce_2, "reduce_2", 0.25},
      {Kernel::reduce_4, "reduce_4", 0.5},
      {Kernel::reduce_8, "reduce_8", 1.0},
      {Kernel::reply, "reply", 8.13},
      {Kernel::decode_1, "decode_1", 12.13},
      {Kernel::decode_2, "decode_2", 12.25},
      {Kernel::decode_4, "decode_4", 12.5},
      {Kernel::decode_8, "decode_8", 13.0},
      {Kernel::loco_encode_2, "loco_encode_2", 6.3},
      {Kernel::loco_encode_4, "loco_encode_4", 6.55},
      {Kernel::loco_encode_8, "loco_encode_8", 7.05},
      {Kernel::loco_mean, "loco_mean", 1.5},
      {Kernel::top_k_percent, "top_k_percent", 4.0},
      {Kernel::top_k_permille, "top_k_permille", 4.0},
      {Kernel::top_k_all_percent, "top_k_all_percent", 8.0},
      {Kernel::top_k_all_permille, "top_k_all_permille", 8.0},
      {Kernel::sparse_sum, "sparse_sum", 100.0},
      {Kernel::sparse_apply, "sparse_apply", 200.0},
  }};
  return figures;
}

Kernel encode_kernel(std::int64_t bits) {
  return of_bits(Kernel::encode_1, bits, 1);
}

Kernel reduce_kernel(std::int64_t bits) {
  return of_bits(Kernel::reduce_1, bits, 1);
}

Kernel decode_kernel(std::int64_t bits) {
  return of_bits(Kernel::decode_1, bits, 1);
}

Kernel loco_encode_kernel(std::int64_t bits) {
  return of_bits(Kernel::loco_encode_2, bits, 2);
}

KernelCosts KernelCosts::at_memory_speed(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second) || bytes_per_second <= 0.0) {
    throw std::invalid_argument("kadam::plan::KernelCosts: expected bytes per second, more than 0, got " +
                                std::to_string(bytes_per_second));
  }
  KernelCosts costs;
  for (const KernelFigures& figures : kernel_figures()) {
    costs.set(figures.kernel, figures.bytes_per_element / bytes_per_second);
  }
  return costs;
}

void KernelCosts::set(Kernel kernel, double seconds_per_element) {
  const auto index = static_cast<std::size_t>(kernel);
  if (!std::isfinite(seconds_per_element) || seconds_per_element < 0.0) {
    std::string text = "kadam::plan::KernelCosts: ";
    text.append(kernel_figures()[index].name).append(": expected seconds per element, 0 or more, got ");
    throw std::invalid_argument(text.append(std::to_string(seconds_per_element)));
  }
  seconds_[index] = seconds_per_element;
}

}  // namespace kadam::plan
