// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/options/parameter_groups.hpp>
#include <replay/replay.hpp>

#include <utility>
#include <vector>

namespace kadam::replay {
namespace {

/// Phases that exchange dense means and nothing else.
std::set<std::string, std::less<>> dense_phases_of(const Optimizer& optimizer) {
  std::set<std::string, std::less<>> dense;
  std::set<std::string, std::less<>> others;
  for (const PlannedTraffic& planned : optimizer.traffic_plan()) {
    const bool is_dense = planned.traffic == Traffic::dense || planned.traffic == Traffic::node;
    (is_dense ? dense : others).insert(planned.phase);
  }
  for (const std::string& phase : others) dense.erase(phase);
  return dense;
}

std::vector<double> rates_of(const ReplayCase& recorded) {
  std::vector<double> rates;
  for (const Segment& tensor : resolve_groups(recorded.tensors, recorded.groups, 0.0, 0).tensors)
    rates.push_back(tensor.lr_scale);
  return rates;
}

}  // namespace

Replay::Replay(const ReplayCase& recorded, std::unique_ptr<Optimizer> optimizer,
               std::unique_ptr<Optimizer> dense)
    : tensors_(recorded.tensors),
      own_(exec_, std::move(optimizer), recorded.parameters),
      dense_(exec_, std::move(dense), recorded.parameters),
      sent_before_(own_.optimizer().communicator().bytes_sent().total()),
      dense_sent_before_(dense_.optimizer().communicator().bytes_sent().total()),
      aside_(own_.optimizer().communicator().duplicate()),
      comparison_(exec_, aside_, recorded.tensors, rates_of(recorded), recorded.parameters),
      gradient_(allocate<float>(exec_, "kadam-replay::gradient", recorded.tensors.elements())),
      host_gradient_(Kokkos::create_mirror_view(gradient_)),
      dense_phases_(dense_phases_of(own_.optimizer())) {
  exec_.fence("kadam-replay: memory is there");
}

void Replay::step(RecordedGradients& gradients, std::int64_t t) {
  gradients.read(t, {host_gradient_.data(), host_gradient_.size()});
  Kokkos::deep_copy(exec_, gradient_, host_gradient_);
  const StepResult result = own_.step(exec_, gradient_);
  dense_.step(exec_, gradient_);
  ++steps_;
  comparison_.add(exec_, result, is_dense(result), own_.parameters(), dense_.parameters());
  if (comparison_.compared_steps() > 0 && result.synchronised) ++equal_;
}

bool Replay::is_dense(const StepResult& result) const {
  return result.skipped || dense_phases_.contains(std::string_view(result.phase));
}

Summary Replay::summary() {
  Summary summary;
  Optimizer& optimizer = own_.optimizer();
  summary.algorithm = optimizer.name();
  summary.dense = dense_.optimizer().name();
  summary.ranks = aside_->size();
  summary.steps = steps_;
  summary.skipped = optimizer.steps_skipped();
  summary.compared = comparison_.compared_steps();
  summary.equal = equal_;
  summary.sent_bytes = optimizer.communicator().bytes_sent().total() - sent_before_;
  summary.dense_sent_bytes = dense_.optimizer().communicator().bytes_sent().total() - dense_sent_before_;
  summary.tensors = tensors_;
  if (summary.compared == 0) return summary;
  summary.figures = comparison_.figures(dense_.parameters());
  summary.warnings = warnings(optimizer.health(exec_));
  return summary;
}

}  // namespace kadam::replay
