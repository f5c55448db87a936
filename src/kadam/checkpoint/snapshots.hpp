// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/snapshot_state.hpp>
#include <kadam/comm/exchange.hpp>
#include <kadam/optim/optimizer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam::checkpoint {

struct SnapshotOptions {
  std::int64_t every = 100;  ///< steps from one snapshot to the next; 1 or more
  /// Steps over which a snapshot travels to the partner, a part after each; 1: all of it at once. At most
  /// `every`.
  std::int64_t spread = 1;
  /// Lines of text that newcomers must have in common with the ranks, beside these options and
  /// Optimizer::made_with(): whatever else the program must do alike on all ranks.
  std::string kind = {};
};

/// No snapshot is whole: a rank and its partner have failed together, or none was taken yet. Training can
/// only go on from a checkpoint on disk.
class SnapshotLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The partner of each rank: the rank that keeps a copy of its part.
struct Partners {
  std::vector<int> of;         ///< the partner of each rank
  bool survive_hosts = false;  ///< partners lie on other hosts: no host has more than half of the ranks

  /// hosts: a number for the host of each rank.
  [[nodiscard]] static Partners on(const std::vector<int>& hosts);
};

/// Snapshots of an optimizer's state in the memory of the ranks: if a rank fails, training goes on from one
/// without that rank, and without any file.
///
/// Each rank keeps its own part of the state, the part that it would write into a checkpoint, and a copy of
/// the part of another rank, its ward. The ward is on another host if no host has more than half of the ranks
/// (survives_hosts()). If a rank fails, its partner still has its part; survives_hosts() says whether that
/// holds for the failure of a host, too. A snapshot is used once all ranks have all of it; until then the one
/// before is kept.
///
///   try { optimizer->step(exec, x, gradient); snapshots.after_step(exec, *optimizer, x); }
///   catch (const PeerFailure&) {
///     step = snapshots.go_on(exec, *optimizer, x, [&](auto survivors) -> Optimizer& {
///       optimizer = make_optimizer(name, options, layout, survivors, groups);
///       return *optimizer;
///     }).step + 1;
///   }
///
/// Memory: on the host, two snapshots of two parts: for `adam` 4 (12 d/n) bytes, and 16 d more where each
/// rank has an error of its own. Wire: for each snapshot one part, of `onebit_adam` (16 d/n + 4 d) bytes, and
/// 24 bytes of control to each rank. Worked number: onebit_adam, d = 3.3 million, n = 4: 26 MB from each
/// rank.
class Snapshots {
 public:
  /// Connects the ranks of the optimizer; takes no snapshot yet. Collective. Errors: std::invalid_argument
  /// for options out of range.
  Snapshots(Optimizer& optimizer, const SnapshotOptions& options);
  /// For a newcomer, which must call restore_on() before it takes a snapshot. Errors: as above.
  explicit Snapshots(const SnapshotOptions& options);
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;
  ~Snapshots();

  /// Takes a snapshot if one is due, and sends the next pieces of one that travels. Call it after every step.
  ///
  /// program: what the program needs to go on, beside the optimizer. Collective in steps in which a snapshot
  /// is taken or becomes whole. Errors: PeerFailure.
  void after_step(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
                  const ProgramState& program = {});
  /// Whether after_step() takes a snapshot of an optimizer that has taken this number of steps: a multiple of
  /// SnapshotOptions::every, and later than the last snapshot.
  [[nodiscard]] bool is_due(std::int64_t steps_taken) const;
  /// after_step() for a step in which no snapshot is due, for callers to whom `parameters` or `program` cost
  /// work: it never takes a snapshot.
  void after_step();
  /// Takes a snapshot now, and returns when all ranks have all of it. Collective. Errors: PeerFailure.
  void take(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
            const ProgramState& program = {});

  /// The snapshot that was restored.
  struct Restored {
    std::int64_t step = 0;  ///< number of steps that the optimizer has taken
    ProgramState program;
    std::vector<int> lost;  ///< ranks that took the snapshot and are gone
  };
  /// Restores the newest whole snapshot into `optimizer`, which was made anew for the ranks that are left,
  /// Communicator::survivors(); then takes a snapshot of these ranks. The errors that ranks still owe are
  /// conserved with the same bits as by a checkpoint that is restored on another number of ranks.
  ///
  /// Collective. After a PeerFailure it may be called again, with an optimizer made for the next survivors.
  /// Errors: SnapshotLost on all ranks; those of Optimizer::restore().
  Restored restore(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters);

  /// A function of the program that makes its optimizer anew for these ranks, in place of the one before, and
  /// whatever else depends on the ranks. Collective.
  using MakeOptimizer = std::function<Optimizer&(std::shared_ptr<Communicator> survivors)>;
  /// Goes on after a PeerFailure: finds out which ranks are left, makes the optimizer for them by make(), and
  /// restores the newest whole snapshot; does all of this again if one more rank fails meanwhile. failed: the
  /// optimizer whose call failed.
  ///
  /// Collective over the ranks that are left. Errors: those of Communicator::survivors() and of restore().
  /// After SnapshotLost all ranks have an optimizer without a state, into which a checkpoint can be restored.
  Restored go_on(const ExecutionSpace& exec, Optimizer& failed, const Parameters& parameters,
                 const MakeOptimizer& make);

  /// Whether a process had asked to join when the last snapshot became whole. The same on all ranks.
  [[nodiscard]] bool has_newcomers() const { return has_newcomers_; }
  /// Takes in the processes that ask to join: takes a snapshot now, so that no step is lost, makes the
  /// optimizer for the present ranks and the newcomers by make(), and restores the snapshot. Returns nothing
  /// if no process asks any more; then everything is as before.
  ///
  /// If a rank fails once newcomers are in, the others go on as in go_on(). Collective over the ranks of the
  /// optimizer; newcomers call restore_on(). Errors: PeerFailure if a rank fails before newcomers are in;
  /// after that, those of go_on().
  std::optional<Restored> admit(const ExecutionSpace& exec, Optimizer& optimizer,
                                const Parameters& parameters, const ProgramState& program,
                                const MakeOptimizer& make);
  /// The text that newcomers must have in common with the ranks, for join_socket_communicator(). optimizer:
  /// on a newcomer, an optimizer of one rank that is made like that of the ranks.
  [[nodiscard]] std::string kind_of(const Optimizer& optimizer) const;
  /// Does a newcomer's part of admit(): makes the optimizer by make() for `ranks`, which
  /// join_socket_communicator() has returned, and restores the snapshot. If some ranks fail meanwhile, goes
  /// on with those that are left.
  ///
  /// Collective. Errors: those of go_on().
  Restored restore_on(const ExecutionSpace& exec, std::shared_ptr<Communicator> ranks,
                      const Parameters& parameters, const MakeOptimizer& make);

  /// The rank that keeps a copy of this rank's part; this rank itself if there is no other.
  [[nodiscard]] int partner() const { return partner_; }
  /// Whether partners lie on other hosts, so that the ranks survive the loss of a host. The same on all
  /// ranks.
  [[nodiscard]] bool survives_hosts() const { return survives_hosts_; }
  /// Bytes of host memory that this rank holds for snapshots now; bytes that it sends for the last one that
  /// it has begun, without the 8 bytes to each rank at its end.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Snapshot {
    std::int64_t number = 0;
    int ranks = 0;
    SnapshotPart own;
    SnapshotPart of_ward;
    bool has_ward = false;  ///< all of of_ward has arrived

    [[nodiscard]] std::size_t bytes() const { return own.bytes().size() + of_ward.bytes().size(); }
  };

  /// Makes line_ for the ranks of this optimizer, and chooses partners. Collective.
  void connect(Optimizer& optimizer);
  /// Copies this rank's part to next_, and prepares to send it and to receive that of the ward. Collective.
  void begin(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
             const ProgramState& program);
  /// Sends one step's share of the pieces; if is_last, calls finish().
  void move_on(bool is_last);
  /// Sends this number of further pieces, and takes those that have arrived. Waits for nobody.
  void move(std::size_t pieces);
  /// Sends what is left, waits until all of next_ has arrived everywhere, and makes it whole_. Collective.
  void finish();
  struct Choice {
    int ranks = 0;          ///< number of ranks that took the snapshot
    std::vector<int> lost;  ///< those of them that are gone
  };
  /// Chooses the newest snapshot of which the ranks together have all parts; it becomes whole_ where this
  /// rank has some of it. Collective. Errors: SnapshotLost on all ranks.
  [[nodiscard]] Choice choose();

  SnapshotOptions options_;
  std::shared_ptr<Communicator> line_;  ///< for messages of snapshots alone
  int partner_ = 0;
  int ward_ = 0;
  bool survives_hosts_ = false;
  bool has_newcomers_ = false;
  std::int64_t taken_ = 0;                       ///< the number of the last snapshot that was begun
  std::int64_t taken_at_ = 0;                    ///< the step at which that was
  std::int64_t steps_under_way_ = 0;             ///< calls of after_step() since it was begun
  std::optional<Snapshot> whole_;                ///< all ranks have all of it
  std::optional<Snapshot> next_;                 ///< the snapshot that travels
  std::array<std::vector<std::byte>, 2> spare_;  ///< memory of the snapshot before whole_
  std::unique_ptr<Exchange> exchange_;           ///< of next_
  std::size_t piece_bytes_ = 0;
  std::size_t pieces_ = 0;  ///< of this rank's part
  std::size_t pieces_sent_ = 0;
  std::size_t to_arrive_ = 0;  ///< pieces of the ward that are missing
  std::size_t bytes_sent_ = 0;
};

}  // namespace kadam::checkpoint
