// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <plan/kernel_costs.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace kadam::plan {
namespace {

std::string name_of_kernel(const char* operation, std::string_view code) {
  return std::string(operation).append(code);
}

Kernel find_kernel(const char* operation, std::string_view code) {
  const std::string name = name_of_kernel(operation, code);
  for (const KernelFigures& figures : kernel_figures()) {
    if (figures.name == name) return figures.kernel;
  }
  throw std::invalid_argument("kadam::plan: there is no kernel '" + name + "'");
}

constexpr const char* encode = "encode_";
constexpr const char* reduce = "reduce_";
constexpr const char* decode = "decode_";
constexpr const char* loco_encode = "loco_encode_";

std::vector<KernelFigures> all_figures() {
  std::vector<KernelFigures> figures = {
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
      {Kernel::reply, "reply", 8.13},
      {Kernel::loco_mean, "loco_mean", 1.5},
      {Kernel::top_k_percent, "top_k_percent", 4.0},
      {Kernel::top_k_permille, "top_k_permille", 4.0},
      {Kernel::top_k_all_percent, "top_k_all_percent", 8.0},
      {Kernel::top_k_all_permille, "top_k_all_permille", 8.0},
      {Kernel::sparse_sum, "sparse_sum", 100.0},
      {Kernel::sparse_apply, "sparse_apply", 200.0},
  };
  const auto add = [&](const char* operation, std::string_view code, double bytes) {
    figures.push_back({static_cast<Kernel>(figures.size()), name_of_kernel(operation, code), bytes});
  };
  for_each_code([&](const auto& code) {
    const double message = code.bits / 8.0;
    add(encode, code.name, 12.0 + 2.0 * message);
    add(reduce, code.name, message);
    add(decode, code.name, 12.0 + message);
  });
  for_each_code<UniformCode>([&](const auto& code) { add(loco_encode, code.name, 6.05 + code.bits / 8.0); });
  return figures;
}

}  // namespace

const std::vector<KernelFigures>& kernel_figures() {
  static const std::vector<KernelFigures> figures = all_figures();
  return figures;
}

Kernel encode_kernel(std::string_view code) {
  return find_kernel(encode, code);
}

Kernel reduce_kernel(std::string_view code) {
  return find_kernel(reduce, code);
}

Kernel decode_kernel(std::string_view code) {
  return find_kernel(decode, code);
}

Kernel loco_encode_kernel(std::string_view code) {
  return find_kernel(loco_encode, code);
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
