// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <train/held_out.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace kadam::train {

workloads::Evaluation evaluate_held_out(const ExecutionSpace& exec, workloads::Model& model,
                                        const Vector<const float>& parameters, const workloads::Dataset& data,
                                        Communicator& communicator, std::int64_t batch_examples,
                                        std::int64_t limit) {
  const std::int64_t available = data.held_out_examples();
  const std::int64_t examples = limit == 0 ? available : std::min(limit, available);
  const std::int64_t ranks = communicator.size();
  workloads::Evaluation own;
  workloads::Batch batch;
  std::vector<std::int64_t> indices;
  for (std::int64_t index = communicator.rank(); index < examples; index += ranks) {
    indices.push_back(index);
    if (static_cast<std::int64_t>(indices.size()) < batch_examples && index + ranks < examples) continue;
    data.held_out_batch(exec, indices, batch);
    const workloads::Evaluation part = model.evaluate(exec, parameters, batch);
    own.loss_sum += part.loss_sum;
    own.correct += part.correct;
    own.count += part.count;
    indices.clear();
  }
  const std::array<double, 3> sums = {own.loss_sum, static_cast<double>(own.correct),
                                      static_cast<double>(own.count)};
  const std::vector<double> all = communicator.all_gather_values(sums);
  workloads::Evaluation total;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    total.loss_sum += all[3 * rank];
    total.correct += static_cast<std::int64_t>(all[3 * rank + 1]);
    total.count += static_cast<std::int64_t>(all[3 * rank + 2]);
  }
  return total;
}

}  // namespace kadam::train
