// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <train/trainer.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

/// What a run saves, and what it goes on from.
namespace kadam::train {

void Trainer::resume(const CheckpointOptions& options) {
  if (options.resume != "auto") {
    adopt(checkpoint::restore(exec_, *optimizer_, parameters_, options.resume));
    return;
  }
  const auto passed_over = [](const std::filesystem::path& path, const std::string& why) {
    fmt::print(stderr, "warning: the checkpoint {} is skipped: {}\n", path.string(), why);
  };
  const auto restored =
      checkpoint::restore_newest(exec_, *optimizer_, parameters_, options.folder, passed_over);
  if (restored) {
    adopt(*restored);
  } else if (is_root()) {
    fmt::print("{}: there is no checkpoint in {} yet: the run starts at step 1\n", optimizer_->name(),
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

/// Position in the data, and the sums that the summary of the whole run needs.
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

void Trainer::adopt(const checkpoint::Snapshots::Restored& restored) {
  if (!adopt(restored.program))
    throw std::logic_error("kadam-train: a snapshot lacks the position of the run");
}

void Trainer::adopt(const checkpoint::Restored& restored) {
  if (!adopt(restored.program)) {
    throw std::runtime_error(
        restored.path.string() +
        ": it lacks the position of the run: expected a checkpoint that kadam-train has written");
  }
  if (is_root())
    fmt::print("{}: goes on after step {} from {}\n", optimizer_->name(), step_, restored.path.string());
}

}  // namespace kadam::train
