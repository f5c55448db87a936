// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <workloads/dataset.hpp>

namespace kadam::train {

/// The model on the first `limit` held-out examples (0: all), shared out over the ranks; the sums of all
/// ranks. Collective.
[[nodiscard]] workloads::Evaluation evaluate_held_out(const ExecutionSpace& exec, workloads::Model& model,
                                                      const Vector<const float>& parameters,
                                                      const workloads::Dataset& data,
                                                      Communicator& communicator, std::int64_t batch_examples,
                                                      std::int64_t limit);

}  // namespace kadam::train
