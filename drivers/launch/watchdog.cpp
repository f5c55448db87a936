// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/config.hpp>
#include <launch/watchdog.hpp>

#ifdef KADAM_ENABLE_MPI
#include <launch/session.hpp>

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kadam::launch {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

bool allows_threads() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace

class Watchdog::Watch {
 public:
  Watch(const char* program, double patience_seconds, MPI_Comm communicator)
      : program_(program), patience_(patience_seconds), communicator_(communicator) {
    MPI_Comm_rank(communicator_, &rank_);
    int ranks = 1;
    MPI_Comm_size(communicator_, &ranks);
    peers_.resize(static_cast<std::size_t>(ranks), {Clock::now(), 0});
    thread_ = std::thread([this] { watch(); });
  }
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    thread_.join();
    // The communicator is not freed: a message that nobody has received must not meet those of another one.
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void saw_step(std::int64_t step) {
    const std::lock_guard lock(mutex_);
    peers_[static_cast<std::size_t>(rank_)] = {Clock::now(), step};
  }

 private:
  struct Peer {
    Clock::time_point heard;
    std::int64_t step;
  };

  /// Whether the other rank sends its steps to this one.
  [[nodiscard]] bool hears(std::size_t peer) const { return rank_ == 0 ? peer > 0 : rank_ == 1 && peer == 0; }

  void watch() {
    const double period = std::clamp(patience_ / 20.0, 0.02, 5.0);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::duration<double>(period), [&] { return stops_; })) {
      receive();
      send();
      judge();
    }
    if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  }

  /// Sends this rank's step to rank 0, or from rank 0 to rank 1; does nothing while the last message is on
  /// its way.
  void send() {
    int is_done = 1;
    if (request_ != MPI_REQUEST_NULL) MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE);
    if (is_done == 0) return;
    outgoing_ = peers_[static_cast<std::size_t>(rank_)].step;
    MPI_Isend(&outgoing_, 1, MPI_INT64_T, rank_ == 0 ? 1 : 0, 0, communicator_, &request_);
  }

  void receive() {
    for (;;) {
      int is_there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, 0, communicator_, &is_there, &status);
      if (is_there == 0) return;
      std::int64_t step = 0;
      MPI_Recv(&step, 1, MPI_INT64_T, status.MPI_SOURCE, 0, communicator_, MPI_STATUS_IGNORE);
      peers_[static_cast<std::size_t>(status.MPI_SOURCE)] = {Clock::now(), step};
    }
  }

  void judge() const {
    const Clock::time_point now = Clock::now();
    const Peer& own = peers_[static_cast<std::size_t>(rank_)];
    const bool stands_still = rank_ == 0 && seconds_between(own.heard, now) > patience_;
    // If this rank stands still, a rank that has been silent for about as long is the cause.
    const double longest_silence = stands_still ? patience_ / 2.0 : patience_;
    std::string reason;
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
      const double silent = seconds_between(peers_[peer].heard, now);
      if (hears(peer) && silent > longest_silence) {
        reason += " rank " + std::to_string(peer) + " has been silent for " +
                  std::to_string(static_cast<long>(silent)) + " s, its last step was " +
                  std::to_string(peers_[peer].step) + ";";
      }
    }
    if (reason.empty() && stands_still) reason = who_is_behind();
    if (reason.empty()) return;
    reason.pop_back();
    std::fprintf(stderr,
                 "%s: the job stands still after step %lld:%s. The job ends now; --resume auto goes on from "
                 "the newest checkpoint.\n",
                 program_, static_cast<long long>(own.step), reason.c_str());
    std::fflush(stderr);
    MPI_Abort(communicator_, exit_failure);
  }

  [[nodiscard]] std::string who_is_behind() const {
    std::int64_t least = peers_.front().step;
    for (const Peer& peer : peers_) least = std::min(least, peer.step);
    std::string text;
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
      if (peers_[peer].step == least)
        text += " rank " + std::to_string(peer) + " has not got beyond step " + std::to_string(least) + ";";
    }
    return text;
  }

  const char* program_;
  double patience_;
  MPI_Comm communicator_;
  int rank_ = 0;
  std::vector<Peer> peers_;  ///< the own entry: when this rank ended its last step
  std::int64_t outgoing_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stops_ = false;
  std::thread thread_;
};

Watchdog::Watchdog(const char* program, double patience_seconds) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks == 1 || patience_seconds == 0.0 || !allows_threads()) return;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  watch_ = std::make_unique<Watch>(program, patience_seconds, communicator);
}

void Watchdog::saw_step(std::int64_t step) {
  if (watch_ != nullptr) watch_->saw_step(step);
}

}  // namespace kadam::launch

#else

namespace kadam::launch {

class Watchdog::Watch {};
Watchdog::Watchdog(const char* /*program*/, double /*patience_seconds*/) {}
void Watchdog::saw_step(std::int64_t /*step*/) {}

}  // namespace kadam::launch

#endif

namespace kadam::launch {

Watchdog::~Watchdog() = default;

}  // namespace kadam::launch
