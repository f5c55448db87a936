// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <memory>
#include <string>

namespace kadam::doctor {

/// What came of training a parabola with known minimum on all ranks.
struct SelfTest {
  bool equal_on_all_ranks = false;  ///< parameters, to the last bit
  double error = 0.0;               ///< distance of the worst parameter from the minimum
  double step_seconds = 0.0;        ///< of a compressed step, median
  double dense_seconds = 0.0;       ///< of a step of dense Adam
  std::size_t sent_bytes = 0;       ///< in a compressed step
  std::size_t dense_bytes = 0;

  [[nodiscard]] bool passed() const { return equal_on_all_ranks && error < 0.1; }
};

/// One million parameters, each rank pulls them to a target of its own: they have to meet at the mean, over
/// onebit_adam's exchanges and adam's. Takes about a second. Collective.
[[nodiscard]] SelfTest run_self_test(const std::shared_ptr<Communicator>& communicator);

}  // namespace kadam::doctor
