// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_case.hpp>
#include <bench/vectors.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <memory>

namespace kadam::bench {
namespace {

constexpr std::int64_t small_elements = 10000;

KernelCase step_of(const std::string& name, const OptionMap& options) {
  const std::shared_ptr<Optimizer> optimizer =
      make_optimizer(name, options, TensorLayout({{"weights", 0, small_elements}}), Communicator::self());
  const auto vectors = std::make_shared<Vectors>(small_elements);
  return {name + " step, d = 10000, 1 rank", 0.0, small_elements, Limit::none,
          [optimizer, vectors](const auto& exec) { optimizer->step(exec, vectors->x, vectors->gradient); }};
}

}  // namespace

std::vector<KernelCase> small_step_cases() {
  return {step_of("adam", {}), step_of("onebit_adam", {{"warmup_steps", 1}})};
}

}  // namespace kadam::bench
