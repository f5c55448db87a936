// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/online_training.hpp>
#include <launch/equal_replicas.hpp>
#include <launch/learning_rates.hpp>
#include <workloads/batch_fill.hpp>
#include <workloads/random.hpp>

#include <algorithm>

namespace kadam::insitu {

OnlineTraining::OnlineTraining(const ExecutionSpace& exec, const Settings& settings, const Block& block,
                               const std::shared_ptr<Communicator>& communicator)
    : options_(settings.training),
      block_(block),
      radius_(settings.surrogate.radius),
      surrogate_(settings.surrogate),
      optimizer_(make_optimizer(settings.optimizer.name,
                                settings.optimizer.options_for(settings.optimizer.name), surrogate_.tensors(),
                                communicator, settings.optimizer.groups)),
      stream_(workloads::random_bits(static_cast<std::uint64_t>(options_.seed),
                                     static_cast<std::uint64_t>(communicator->rank()))) {
  const std::int64_t d = tensors().elements();
  parameters_ = allocate<float>(exec, "kadam-insitu::parameters", d);
  consensus_ = allocate<float>(exec, "kadam-insitu::consensus", d);
  gradient_ = allocate<float>(exec, "kadam-insitu::gradient", d);
  rounded_gradient_ = launch::RoundedGradient(exec, optimizer_->gradient_format(), d);
  const auto host = Kokkos::create_mirror_view(parameters_);
  surrogate_.initialise(host, static_cast<std::uint64_t>(options_.seed));
  Kokkos::deep_copy(exec, parameters_, host);
  exec.fence("kadam-insitu: initial parameters");
  launch::require_learning_rates(*optimizer_, options_.steps());
}

/// Any cell of the block, any pair of states, each as likely as the others.
void OnlineTraining::draw_sites(const ExecutionSpace& exec, const History& history) {
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(
        workloads::random_below(stream_, counter_, static_cast<std::uint64_t>(bound)));
  };
  workloads::fill_from_host(exec, "kadam-insitu::sites",
                            static_cast<std::size_t>(options_.batch * site_numbers), sites_,
                            [&](const auto& host) {
                              for (std::int64_t k = 0; k < options_.batch; ++k) {
                                const std::int64_t jump = below(history.jumps());
                                const auto at = static_cast<std::size_t>(k * site_numbers);
                                host(at) = static_cast<std::int32_t>(history.slot_before(jump));
                                host(at + 1) = static_cast<std::int32_t>(history.slot_after(jump));
                                host(at + 2) = static_cast<std::int32_t>(below(block_.height));
                                host(at + 3) = static_cast<std::int32_t>(below(block_.width));
                              }
                            });
}

OnlineStep OnlineTraining::step(const ExecutionSpace& exec, const History& history) {
  const ByteCounters before = optimizer_->communicator().bytes_sent();
  draw_sites(exec, history);
  gather_examples(exec, history.states(), radius_, sites_, scaling_, surrogate_.batch(exec, options_.batch));
  OnlineStep step;
  const auto announce = [&](const ElementRange& range) {  // dense gradients leave while others are computed
    rounded_gradient_.round(exec, gradient_, range);
    optimizer_->gradient_ready(exec, rounded_gradient_.view(gradient_), range);
  };
  step.loss = surrogate_.loss_and_gradient(exec, parameters_, gradient_, announce);
  step.result = optimizer_->step(exec, parameters_, rounded_gradient_.view(gradient_));
  const ByteCounters after = optimizer_->communicator().bytes_sent();
  step.control_bytes = after.sent(Traffic::control) - before.sent(Traffic::control);
  step.bytes = after.total() - before.total() - step.control_bytes;
  step.node_bytes = after.sent(Traffic::node) - before.sent(Traffic::node);
  if (!step.result.skipped) {
    step.planned_bytes = optimizer_->bytes_sent_in(step.result.step, step.result.phase);
  }
  return step;
}

std::uint64_t OnlineTraining::update_consensus(const ExecutionSpace& exec) {
  optimizer_->write_consensus(exec, parameters_, consensus_);
  return launch::require_equal_replicas(optimizer_->communicator(), exec, consensus_);
}

void OnlineTraining::predict(const ExecutionSpace& exec, const Field& before, const Field& after) {
  constexpr std::int64_t cells_at_once = 2048;
  for (std::int64_t first = 0; first < block_.cells(); first += cells_at_once) {
    const std::int64_t cells = std::min(cells_at_once, block_.cells() - first);
    gather_inputs(exec, before, radius_, block_, first, scaling_, surrogate_.batch(exec, cells).inputs);
    const auto changes = surrogate_.predict(exec, consensus_);
    apply_changes(exec, before, radius_, block_, first, scaling_, changes, after);
  }
}

}  // namespace kadam::insitu
