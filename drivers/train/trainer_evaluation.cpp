// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/optimizer_steps.hpp>
#include <train/trainer.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

/// How well a run does on what it is not trained with.
namespace kadam::train {
namespace {

/// The model on the first `limit` held-out examples (0: all), shared out over the ranks; the sums of all
/// ranks. Collective.
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

}  // namespace

void Trainer::evaluate(std::int64_t step) {
  const Kokkos::Profiling::ScopedRegion region("kadam-train::evaluate");
  optimizer_->write_consensus(exec_, parameters_, consensus_);
  const std::uint64_t hash = launch::require_equal_replicas(*communicator_, exec_, consensus_);
  const TrainingOptions& training = configuration_.training;
  const workloads::Evaluation held_out = evaluate_held_out(exec_, *model_, consensus_, data_, *communicator_,
                                                           training.batch, training.held_out_examples);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(held_out.count);
  summary_.held_out_loss = held_out.count == 0 ? none : held_out.loss_sum / count;
  summary_.accuracy = held_out.count == 0 ? none : static_cast<double>(held_out.correct) / count;
  if (is_root()) {
    metrics_->write({{"step", step},
                     {"held_out_loss", summary_.held_out_loss},
                     {"held_out_accuracy", summary_.accuracy},
                     {"held_out_predictions", held_out.count},
                     {"replica_hash", fmt::format("{:016x}", hash)}});
  }
}

}  // namespace kadam::train
