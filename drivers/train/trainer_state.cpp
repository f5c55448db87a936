// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <train/trainer.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

/// What a run saves, and what it goes on from.
namespace kadam::train {

void Trainer::resume(const CheckpointOptions& options) {
  if (options.resume != "auto") {
    adopt(checkpoint::restore(exec_, *optimizer_, parameters_, options.resume));
    return;
  }
  const auto passed_over = [](const std::filesystem::path& path, const std::string& why) {
    fmt::print(stderr, "warning: {} is passed over: {}\n", path.string(), why);
  };
  const auto restored =
      checkpoint::restore_newest(exec_, *optimizer_, parameters_, options.folder, passed_over);
  if (restored) {
    adopt(*restored);
  } else if (is_root()) {
    fmt::print("{}: no checkpoint in {} yet: starts at step 1\n", optimizer_->name(),
               options.folder.string());
  }
}

void Trainer::save(const CheckpointOptions& options) {
  const Kokkos::Profiling::ScopedRegion region("kadam-train::save");
  try {
    (void)checkpoint::save(exec_, *optimizer_, parameters_, options.folder, program_state(), options.keep);
  } catch (const std::exception& error) {
    // All ranks come here together.
    if (!options.goes_on_unsaved) throw;
    if (is_root()) fmt::print(stderr, "warning: step {} is not saved: {}\n", step_, error.what());
  }
}

/// Where the data are, and what the summary needs to be that of the whole run.
checkpoint::ProgramState Trainer::program_state() const {
  const workloads::SamplerState sampler = sampler_->state();
  checkpoint::ProgramState state = statistics_.to_texts();
  state["step"] = std::to_string(step_);
  state["sampler"] = fmt::format("{} {} {}", sampler.seed, sampler.epoch, sampler.position);
  state["wall_seconds"] = fmt::format("{:a}", wall_seconds());
  state["held_out"] = fmt::format("{:a} {:a}", summary_.held_out_loss, summary_.accuracy);
  return state;
}

bool Trainer::adopt(const checkpoint::ProgramState& program) {
  const auto text = [&](const char* name) {
    const auto found = program.find(name);
    return found == program.end() ? std::string() : found->second;
  };
  long long epoch = 0;
  long long position = 0;
  unsigned long long seed = 0;
  long long step = 0;
  const bool is_whole =
      std::sscanf(text("sampler").c_str(), "%llu %lld %lld", &seed, &epoch, &position) == 3 &&
      std::sscanf(text("step").c_str(), "%lld", &step) == 1 &&
      std::sscanf(text("wall_seconds").c_str(), "%la", &seconds_of_former_) == 1 &&
      std::sscanf(text("held_out").c_str(), "%la %la", &summary_.held_out_loss, &summary_.accuracy) == 2 &&
      statistics_.from_texts(program);
  if (!is_whole) return false;
  sampler_->restore({seed, epoch, position});
  step_ = step;
  progress_->start_after(step_);
  return true;
}

void Trainer::adopt(const checkpoint::Restored& restored) {
  if (!adopt(restored.program)) {
    throw std::runtime_error(restored.path.string() +
                             ": it was not written by kadam-train: where the run stood is missing");
  }
  if (is_root())
    fmt::print("{}: goes on after step {} from {}\n", optimizer_->name(), step_, restored.path.string());
}

void Trainer::start_snapshots(const checkpoint::SnapshotOptions& options) {
  Kokkos::Timer timer;
  snapshots_.emplace(*optimizer_, options);
  // Whoever fails before the first is due is survived as well.
  snapshots_->take(exec_, *optimizer_, parameters_, program_state());
  if (!is_root()) return;
  fmt::print(
      "  snapshots: every {} steps {} from each rank to another{}, {} of its memory; the first took {}\n",
      options.every, launch::bytes_text(static_cast<double>(snapshots_->bytes_sent())),
      snapshots_->survives_hosts() ? " on another host" : "",
      launch::bytes_text(2.0 * static_cast<double>(snapshots_->bytes())),
      launch::seconds_text(timer.seconds()));
  if (!snapshots_->survives_hosts() && communicator_->size() > 1)
    fmt::print(stderr,
               "warning: more than half of the ranks are on one host: without it the snapshots are lost; "
               "checkpoints (--checkpoint) are what is left then\n");
}

void Trainer::take_snapshot() {
  const Kokkos::Timer timer;
  if (snapshots_->is_due(optimizer_->steps_taken())) {
    snapshots_->after_step(exec_, *optimizer_, parameters_, program_state());
  } else {
    snapshots_->after_step();
  }
  snapshot_seconds_ += timer.seconds();
}

const char* Trainer::restore_for_those_left(const CheckpointOptions& options) {
  const auto with = [&](std::shared_ptr<Communicator> left) -> Optimizer& {
    take_part(std::move(left));
    return *optimizer_;
  };
  for (;;) {
    std::exception_ptr no_snapshot;
    try {
      if (!adopt(snapshots_->go_on(exec_, *optimizer_, parameters_, with).program))
        throw std::logic_error("kadam-train: a snapshot lacks where the run stood");
      return "a snapshot";
    } catch (const checkpoint::SnapshotLost& lost) {
      if (options.folder.empty()) throw;
      if (is_root()) fmt::print(stderr, "warning: {}\n", lost.what());
      no_snapshot = std::current_exception();
    }
    try {
      const auto restored = checkpoint::restore_newest(exec_, *optimizer_, parameters_, options.folder);
      if (!restored) std::rethrow_exception(no_snapshot);
      adopt(*restored);
      snapshots_->take(exec_, *optimizer_, parameters_, program_state());
      return "a checkpoint";
    } catch (const PeerFailure& failure) {  // one more is gone
      fmt::print(stderr, "warning: rank {}: {}\n", communicator_->rank(), failure.what());
    }
  }
}

void Trainer::survive(const std::filesystem::path& folder, const CheckpointOptions& options) {
  Kokkos::Timer timer;
  const double seconds_until_now = wall_seconds();
  const int ranks = communicator_->size();
  const char* const from = restore_for_those_left(options);
  // The clock goes on; the steps that are lost are repeated.
  timer_.reset();
  seconds_of_former_ = seconds_until_now + timer.seconds();
  metrics_.reset();
  if (is_root()) open_folder(folder, true);
  progress_.emplace(algorithm_, configuration_.training.steps, is_root());
  progress_->start_after(step_);
  if (is_root())
    fmt::print("{}: {} of {} ranks go on after step {} from {} ({})\n", optimizer_->name(),
               communicator_->size(), ranks, step_, from, launch::seconds_text(timer.seconds()));
  std::fflush(stdout);
}

}  // namespace kadam::train
