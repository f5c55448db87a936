// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/execution.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <cstdint>
#include <memory>

namespace kadam {

/// Who moves a background exchange on while the program computes. The result is the same to the last bit.
enum class Progress : std::uint8_t {
  thread,  ///< a thread of its own, over a communicator of its own; on a spare core if there is one
  poll,    ///< the program, by calls between parts of its computation
  none,    ///< nobody: the exchange is done when it is started, and costs its time
};

/// What a BackgroundMean of so many elements exchanges and holds, all of it workspace: with one level.
[[nodiscard]] Cost background_mean_cost(const Arrangement& ranks, std::int64_t elements);

/// How long background exchanges took, and how much of that the program waited for.
struct BackgroundSeconds {
  double running = 0.0;  ///< from start to the last message
  double exposed = 0.0;  ///< of these, the program stood still
  std::int64_t exchanges = 0;

  /// 1: all of it was hidden behind computation.
  [[nodiscard]] double hidden_fraction() const { return running == 0.0 ? 0.0 : 1.0 - exposed / running; }
};

/// The exact mean of a vector over ranks, travelling while the program computes: DenseMean's bits.
///
/// MPI makes no progress on its own between two calls: somebody has to call it. It yields to the exchanges of
/// the communicator that it was made with: while one is under way, no new piece of the background leaves, and
/// at any time so few are on the wire (four pieces, or all replies to one) that nobody waits long behind
/// them.
///
/// Errors: an exchange that fails is given up; from then on start() and mean() throw what it failed with, and
/// nothing is exchanged any more.
///
/// Memory: 4 d for the parts and 4 d for the result; on a device 8 d more, host copies of the vector and of
/// the result. The mean is taken by the host: parts and copies lie in pinned host memory. Wire: 2 (n - 1)/n
/// 4 d bytes per rank, as DenseMean. Worked number: d = 10^6, n = 4: 6 MB per rank, 8 MB held on a CPU.
class BackgroundMean {
 public:
  BackgroundMean();
  /// Errors: std::invalid_argument if a thread is wanted and the communicator's transport allows none.
  BackgroundMean(const ExecutionSpace& exec, std::shared_ptr<Communicator> foreground,
                 const ChunkLayout& chunks, Progress progress);
  /// Completes what is under way, unless an exception is on its way: then it is given up. Collective.
  ~BackgroundMean();
  BackgroundMean(BackgroundMean&&) noexcept;
  BackgroundMean& operator=(BackgroundMean&&) noexcept;

  /// Starts the mean of values, which must not change before mean(). Counts its bytes as background traffic.
  /// Collective. Errors: std::logic_error if mean() was not called since the last start.
  void start(const ExecutionSpace& exec, const Vector<const float>& values);
  /// Moves on what can be moved on without waiting.
  void poll();
  /// The mean of the last start, waited for if need be; 0 before the first and after a reset. Collective.
  [[nodiscard]] Vector<const float> mean(const ExecutionSpace& exec);
  /// The vector that mean() gives, when nothing is under way: what a checkpoint saves, and restores.
  [[nodiscard]] const Vector<float>& settled(const ExecutionSpace& exec);
  /// mean <- 0. Nothing may be under way.
  void reset(const ExecutionSpace& exec);

  [[nodiscard]] const BackgroundSeconds& seconds() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace kadam
