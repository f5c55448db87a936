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
  thread,  ///< a thread that BackgroundMean starts, on a spare core if there is one
  poll,    ///< the program, which calls poll() between parts of its computation
  none,    ///< nobody: start() waits until the exchange is complete
};

/// The cost of a BackgroundMean of `elements` elements, all of its memory workspace. The exchange has
/// one level, also where `ranks` have two.
[[nodiscard]] Cost background_mean_cost(const Arrangement& ranks, std::int64_t elements);

/// How long background exchanges took, and how much of that the program waited for.
struct BackgroundSeconds {
  double running = 0.0;        ///< from the start of an exchange to its last message, over all exchanges
  double exposed = 0.0;        ///< the part of `running` in which the program waited
  std::int64_t exchanges = 0;  ///< that are complete

  /// The part of `running` in which the program computed: 1 if it never waited; 0 before the first exchange.
  [[nodiscard]] double hidden_fraction() const { return running == 0.0 ? 0.0 : 1.0 - exposed / running; }
};

/// The exact mean of a vector over ranks, exchanged while the program computes: the bits of DenseMean.
///
/// MPI makes no progress between two calls, so somebody has to call it (Progress). The background exchange
/// yields to the exchanges of `foreground`, the communicator that the mean is made with: while one of these
/// is under way, no new piece of the background leaves, unless the program already waits in mean(). At any
/// time at most four of its pieces are on the wire, or three and all replies to one slice, so that nobody
/// waits long behind them.
///
/// Errors: an exchange that fails is given up. The call that meets the failure throws it, and so does every
/// later start() and mean(); nothing is exchanged any more.
///
/// Memory: 4 d for the parts and 4 d for the result; on a device 8 d more, host copies of the vector and of
/// the result. The mean is taken by the host: parts and copies lie in pinned host memory. Wire: 2 (n - 1)/n
/// 4 d bytes per rank, as DenseMean. Worked number: d = 10^6, n = 4: 6 MB per rank, 8 MB held on a CPU.
class BackgroundMean {
 public:
  /// An empty object, to be assigned to.
  BackgroundMean();
  /// The mean exchanges over a duplicate of `foreground`, which the first start() makes. Rank j reduces chunk
  /// j of `chunks`; their number is that of the ranks of `foreground`. Errors: std::invalid_argument for
  /// Progress::thread if the transport allows no threads.
  BackgroundMean(const ExecutionSpace& exec, std::shared_ptr<Communicator> foreground,
                 const ChunkLayout& chunks, Progress progress);
  /// Waits for the exchange that is under way, and drops its failure; gives the exchange up if an exception
  /// is being thrown. Collective.
  ~BackgroundMean();
  BackgroundMean(BackgroundMean&&) noexcept;
  BackgroundMean& operator=(BackgroundMean&&) noexcept;

  /// Starts the mean of values, which must not change before mean(). Waits for exec. Its bytes are counted as
  /// background traffic of `foreground`. Collective. Shape: values [d]. Errors: std::logic_error if mean()
  /// was not called since the last start().
  void start(const ExecutionSpace& exec, const Vector<const float>& values);
  /// With Progress::poll: moves the exchange on as far as that needs no waiting, and throws if it fails. Else
  /// does nothing.
  void poll();
  /// The mean of the values of the last start(), for which it waits if need be; 0 before the first start()
  /// and after reset(). Collective. The result [d] is valid until the next start() or reset().
  [[nodiscard]] Vector<const float> mean(const ExecutionSpace& exec);
  /// Waits as mean() does, and returns the same vector: a checkpoint saves it or writes into it. Collective.
  [[nodiscard]] const Vector<float>& settled(const ExecutionSpace& exec);
  /// mean <- 0. Not between start() and mean().
  void reset(const ExecutionSpace& exec);

  [[nodiscard]] const BackgroundSeconds& seconds() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace kadam
