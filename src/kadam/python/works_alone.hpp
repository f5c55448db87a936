// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/python/bound_optimizer.hpp>

#include <atomic>
#include <stdexcept>

namespace kadam::python {

/// Claims an object for one call, without waiting for another that has it.
class Claim {
 public:
  explicit Claim(std::atomic<bool>& is_busy) : is_busy_(is_busy) {
    if (!is_busy_.exchange(true)) return;
    throw std::runtime_error(
        "this optimizer is in a call of another thread: let one thread at a time use it");
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { is_busy_ = false; }

 private:
  std::atomic<bool>& is_busy_;
};

template <class Call>
auto BoundOptimizer::alone(const Call& call) {
  const Claim claim(is_busy_);
  Optimizer& optimizer = get();
  const nb::gil_scoped_release others_run;
  return call(optimizer);
}

}  // namespace kadam::python
