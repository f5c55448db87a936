// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>
#include <launch/optimizer_steps.hpp>
#include <launch/quantities.hpp>
#include <trace/recorder.hpp>
#include <train/trainer.hpp>
#include <workloads/make_sampler.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace kadam::train {
namespace {

workloads::SamplerOptions sampler_options(const Configuration& configuration, const workloads::Dataset& data,
                                          const Communicator& communicator) {
  return {data.training_examples(), configuration.training.batch, communicator.size(), communicator.rank()};
}

void scale(const ExecutionSpace& exec, float factor, const Vector<float>& x) {
  Kokkos::parallel_for(
      "kadam-train::scale",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, x.extent(0)),
      KOKKOS_LAMBDA(const std::size_t i) { x(i) *= factor; });
}

void add(const ExecutionSpace& exec, const Vector<float>& to, const Vector<const float>& x) {
  Kokkos::parallel_for(
      "kadam-train::add",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, x.extent(0)),
      KOKKOS_LAMBDA(const std::size_t i) { to(i) += x(i); });
}

}  // namespace

Trainer::Trainer(const Configuration& configuration, const std::string& algorithm,
                 const workloads::Dataset& data, std::shared_ptr<Communicator> communicator)
    : configuration_(configuration),
      algorithm_(algorithm),
      data_(data),
      model_(workloads::make_model(configuration.model, data.shape())),
      progress_(std::in_place, algorithm, configuration.training.steps, communicator->rank() == 0),
      statistics_(configuration.training.steps) {
  take_part(std::move(communicator));
  const std::int64_t d = model_->tensors().elements();
  parameters_ = allocate<float>(exec_, "kadam-train::parameters", d);
  consensus_ = allocate<float>(exec_, "kadam-train::consensus", d);
  gradient_ = allocate<float>(exec_, "kadam-train::gradient", d);
  rounded_gradient_ = launch::RoundedGradient(exec_, optimizer_->gradient_format(), d);
  if (configuration.training.accumulate > 1) {
    micro_gradient_ = allocate<float>(exec_, "kadam-train::micro_gradient", d);
  }
  const auto host = Kokkos::create_mirror_view(parameters_);
  model_->initialise(host, static_cast<std::uint64_t>(configuration.training.seed));
  Kokkos::deep_copy(exec_, parameters_, host);
  exec_.fence("kadam-train: initial parameters");
  launch::require_learning_rates(*optimizer_, configuration.training.steps);
  summary_.algorithm = algorithm;
}

void Trainer::take_part(std::shared_ptr<Communicator> communicator) {
  communicator_ = std::move(communicator);
  const auto seed = static_cast<std::uint64_t>(configuration_.training.seed);
  optimizer_ = make_optimizer(algorithm_, configuration_.optimizer.options_for(algorithm_), model_->tensors(),
                              communicator_, configuration_.optimizer.groups);
  sampler_ = workloads::make_sampler(data_, configuration_.data.dirichlet_alpha,
                                     sampler_options(configuration_, data_, *communicator_), seed);
  statistics_ = RunStatistics(configuration_.training.steps);
  summary_.dense_bytes_per_step =
      static_cast<double>(DenseMean::bytes_sent(*communicator_, model_->tensors().elements()));
}

void Trainer::record_into(const std::filesystem::path& folder) {
  recording_ = std::make_unique<replay::Recording>(exec_, folder, *communicator_, model_->tensors(),
                                                   parameters_, configuration_.training.steps);
}

RunSummary Trainer::run(const std::filesystem::path& folder, const CheckpointOptions& checkpoints) {
  if (checkpoints.joins) {
    join(folder, checkpoints);
  } else {
    if (!checkpoints.resume.empty()) resume(checkpoints);
    if (is_root()) open_folder(folder, !checkpoints.resume.empty());
  }
  timer_.reset();
  SaveTimes times(checkpoints);
  if (checkpoints.snapshots.every > 0 && !snapshots_) start_snapshots(snapshot_options(checkpoints));
  for (bool is_done = false; !is_done;) {
    try {
      if (checkpoints.admits && !has_doors_) show_doors(folder);
      while (step_ < configuration_.training.steps && !summary_.was_stopped) {
        train_step(checkpoints, times);
        if (!snapshots_) continue;
        take_snapshot();
        if (!checkpoints.admits || !snapshots_->has_newcomers()) continue;
        if (step_ < configuration_.training.steps && !summary_.was_stopped) admit(folder);
        if (!has_doors_) show_doors(folder);
      }
      close_doors(folder);
      summary_.wall_seconds = wall_seconds();
      if (recording_) recording_->commit();
      progress_->finish();
      summarise();
      if (snapshots_ && is_root())
        fmt::print("{}: snapshots delayed rank 0 by {}, {:.2f} % of the run\n", algorithm_,
                   launch::seconds_text(snapshot_seconds_),
                   100.0 * snapshot_seconds_ / summary_.wall_seconds);
      is_done = true;
    } catch (const PeerFailure& failure) {
      if (!snapshots_) throw;
      fmt::print(stderr, "warning: rank {}, step {}: {}\n", communicator_->rank(), step_, failure.what());
      survive(folder, checkpoints);
    }
  }
  if (is_root() && !summary_.was_stopped) {
    write_parameters(folder);
    close_run_record(folder / "run.json", summary_);
  }
  return summary_;
}

void Trainer::train_step(const CheckpointOptions& checkpoints, SaveTimes& times) {
  const TrainingOptions& training = configuration_.training;
  const std::int64_t step = ++step_;
  if (timeline_ != nullptr) timeline_->at_step(step);
  const std::uint32_t raised = take_step(step, times.wishes(is_root()));
  const bool is_last = step == training.steps;
  if (is_last) optimizer_->flush(exec_, parameters_);
  const bool asked = training.evaluate_every > 0 && step % training.evaluate_every == 0;
  if (asked || is_last) evaluate(step);
  if (times.is_due(step, raised) || (is_last && !checkpoints.folder.empty())) {
    save(checkpoints);
    times.saved();
  }
  summary_.was_stopped = SaveTimes::ends(raised) && !is_last;
  if (watchdog_ != nullptr) watchdog_->saw_step(step);
}

/// Writes the mean gradient of `accumulate` batches; returns their mean loss. When it returns, a device may
/// still be at work on the gradient, unless the step is timed.
double Trainer::accumulate_gradient(bool is_timed) {
  const Kokkos::Profiling::ScopedRegion region(trace::gradient_region);
  const std::int64_t batches = configuration_.training.accumulate;
  double loss = 0.0;
  for (std::int64_t k = 0; k < batches; ++k) {
    const auto examples = sampler_->next();
    data_.training_batch(exec_, examples, sampler_->epoch(), batch_);
    const Vector<float>& target = k == 0 ? gradient_ : micro_gradient_;
    loss += model_->loss_and_gradient(exec_, parameters_, batch_, target,
                                      [&](const ElementRange& range) { use_while_computing(range); });
    if (k > 0) add(exec_, gradient_, micro_gradient_);
  }
  if (batches > 1) scale(exec_, static_cast<float>(1.0 / static_cast<double>(batches)), gradient_);
  if (is_timed) exec_.fence("kadam-train: gradient");
  return loss / static_cast<double>(batches);
}

/// These elements of the gradient of a batch are final.
void Trainer::use_while_computing(const ElementRange& range) {
  if (overlaps()) {
    rounded_gradient_.round(exec_, gradient_, range);
    optimizer_->gradient_ready(exec_, rounded_gradient_.view(gradient_), range);
  }
  optimizer_->progress();
}

/// Takes one step; returns the wishes of all ranks.
std::uint32_t Trainer::take_step(std::int64_t step, std::uint32_t wishes) {
  const Kokkos::Profiling::ScopedRegion region(trace::step_region);
  Kokkos::Timer timer;
  optimizer_->raise(wishes);
  const ByteCounters before = communicator_->bytes_sent();
  const bool is_logged =
      step % configuration_.training.log_every == 0 || step == configuration_.training.steps;
  // Clocks of phases wait for the device, which then cannot work ahead.
  const bool is_timed = kernels_run_on_host || is_logged;
  optimizer_->phases().measure(is_timed);
  const double loss = accumulate_gradient(is_timed);
  const double compute_seconds = timer.seconds();
  if (recording_) recording_->add(exec_, gradient_);
  const StepResult result =
      optimizer_->step(exec_, parameters_,
                       overlaps() ? rounded_gradient_.view(gradient_) : rounded_gradient_(exec_, gradient_));
  statistics_.add({step, result.phase, result.skipped, loss, compute_seconds, optimizer_->phases().seconds(),
                   communicator_->bytes_sent().between_nodes() - before.between_nodes(),
                   communicator_->bytes_sent().sent(Traffic::background) - before.sent(Traffic::background),
                   timer.seconds(), is_timed});
  if (is_logged) log(result, step);
  return result.raised;
}

}  // namespace kadam::train
