// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/files.hpp>
#include <launch/quantities.hpp>
#include <launch/session.hpp>
#include <train/trainer.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

/// Ranks that fail, and ranks that come.
namespace kadam::train {
namespace {

/// Addresses at which ranks of a run can be asked to let others in, one in a line.
std::filesystem::path doors_of(const std::filesystem::path& folder) {
  return folder / "doors.txt";
}

std::vector<std::string> read_doors(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(doors_of(folder)))
    throw launch::UsageError(
        "--join: no run in " + folder.string() +
        " accepts newcomers: expected the --run of a job that is training now, with KADAM_WIRE=tcp and "
        "--snapshot-every");
  std::istringstream lines(launch::read_file(doors_of(folder)));
  std::vector<std::string> doors;
  for (std::string line; std::getline(lines, line);) doors.push_back(line);
  return doors;
}

}  // namespace

void Trainer::start_snapshots(const checkpoint::SnapshotOptions& options) {
  Kokkos::Timer timer;
  snapshots_.emplace(*optimizer_, options);
  // A rank may fail before the first snapshot is due.
  snapshots_->take(exec_, *optimizer_, parameters_, program_state());
  if (!is_root()) return;
  fmt::print(
      "  snapshots: every {} steps each rank sends {} to a partner{} and holds {} in memory; the first took "
      "{}\n",
      options.every, launch::bytes_text(static_cast<double>(snapshots_->bytes_sent())),
      snapshots_->survives_hosts() ? " on another host" : "",
      launch::bytes_text(2.0 * static_cast<double>(snapshots_->bytes())),
      launch::seconds_text(timer.seconds()));
  if (!snapshots_->survives_hosts() && communicator_->size() > 1)
    fmt::print(
        stderr,
        "warning: more than half of the ranks are on one host: if it fails, the snapshots are lost, and only "
        "checkpoints (--checkpoint) remain\n");
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

checkpoint::Snapshots::MakeOptimizer Trainer::maker() {
  return [this](std::shared_ptr<Communicator> ranks) -> Optimizer& {
    take_part(std::move(ranks));
    return *optimizer_;
  };
}

const char* Trainer::restore_for_those_left(const CheckpointOptions& options) {
  for (;;) {
    std::exception_ptr no_snapshot;
    try {
      adopt(snapshots_->go_on(exec_, *optimizer_, parameters_, maker()));
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
  has_lost_ranks_ = true;
  const char* const from = restore_for_those_left(options);
  go_on(folder, seconds_until_now + timer.seconds());
  if (is_root())
    fmt::print("{}: {} of {} ranks go on after step {} from {} ({})\n", optimizer_->name(),
               communicator_->size(), ranks, step_, from, launch::seconds_text(timer.seconds()));
  std::fflush(stdout);
}

/// The clock goes on, and the steps since the snapshot are repeated.
void Trainer::go_on(const std::filesystem::path& folder, double seconds_until_now) {
  timer_.reset();
  seconds_of_former_ = seconds_until_now;
  metrics_.reset();
  if (is_root()) open_folder(folder, true);
  progress_.emplace(algorithm_, configuration_.training.steps, is_root());
  progress_->start_after(step_);
  has_doors_ = false;
}

void Trainer::show_doors(const std::filesystem::path& folder) {
  has_doors_ = true;
  const std::vector<std::string> doors = communicator_->all_gather_texts(communicator_->door());
  if (!is_root() || doors.front().empty()) return;
  std::string lines;
  for (const std::string& door : doors) lines += door + "\n";
  launch::write_file(doors_of(folder), lines);
}

void Trainer::close_doors(const std::filesystem::path& folder) const {
  std::error_code ignored;
  if (is_root()) std::filesystem::remove(doors_of(folder), ignored);
}

checkpoint::SnapshotOptions Trainer::snapshot_options(const CheckpointOptions& options) const {
  checkpoint::SnapshotOptions all = options.snapshots;
  all.kind = to_toml(configuration_, optimizer_->name(), optimizer_->options()) + options.when_saved();
  return all;
}

void Trainer::admit(const std::filesystem::path& folder) {
  Kokkos::Timer timer;
  const double seconds_until_now = wall_seconds();
  const int ranks = communicator_->size();
  std::optional<checkpoint::Snapshots::Restored> restored;
  try {
    restored = snapshots_->admit(exec_, *optimizer_, parameters_, program_state(), maker());
  } catch (const checkpoint::SnapshotLost& lost) {
    throw PeerFailure(lost.what());  // a checkpoint may be left
  }
  if (!restored) return;
  adopt(*restored);
  has_lost_ranks_ = has_lost_ranks_ || !restored->lost.empty();
  go_on(folder, seconds_until_now + timer.seconds());
  if (is_root())
    fmt::print("{}: {} ranks go on after step {}, there were {} before ({})\n", optimizer_->name(),
               communicator_->size(), step_, ranks, launch::seconds_text(timer.seconds()));
  std::fflush(stdout);
}

void Trainer::join(const std::filesystem::path& folder, const CheckpointOptions& options) {
  snapshots_.emplace(snapshot_options(options));
  const std::shared_ptr<Communicator> joined =
      launch::join_ranks(read_doors(folder), snapshots_->kind_of(*optimizer_));
  const int ranks = joined->size();
  adopt(snapshots_->restore_on(exec_, joined, parameters_, maker()));
  has_lost_ranks_ = communicator_->size() < ranks;
  fmt::print("{}: joined as rank {} of {}, after step {}\n", optimizer_->name(), communicator_->rank(),
             communicator_->size(), step_);
  std::fflush(stdout);
}

}  // namespace kadam::train
