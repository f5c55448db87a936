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
  /// What newcomers have to agree to beside these and how the optimizer was made, lines of text: what else
  /// the program would not do the same on all ranks.
  std::string kind = {};
};

/// No snapshot survives whole: a rank and its partner have failed together. A checkpoint on disk is what is
/// left.
class SnapshotLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Which rank keeps the part of which.
struct Partners {
  std::vector<int> of;         ///< of each rank
  bool survive_hosts = false;  ///< each lies on another host: none has more than half of the ranks

  /// hosts: a number for the host of each rank.
  [[nodiscard]] static Partners on(const std::vector<int>& hosts);
};

/// The state of an optimizer in the memory of the ranks: what training goes on from without a rank that has
/// failed, with no file.
///
/// Each rank keeps its part of the state, the one that it would write into a checkpoint, and that of another
/// rank, its ward, which lies on another host where there is one. If a rank or a host fails, its part is with
/// its partner. A snapshot is used when all ranks have all of it; until then the one before is kept.
///
///   try { optimizer->step(exec, x, gradient); snapshots.after_step(exec, *optimizer, x); }
///   catch (const PeerFailure&) {
///     step = snapshots.go_on(exec, *optimizer, x, [&](auto survivors) -> Optimizer& {
///       optimizer = make_optimizer(name, options, layout, survivors, groups);
///       return *optimizer;
///     }).step + 1;
///   }
///
/// Memory: on the host, twice the parts of two ranks: for `adam` 4 (12 d/n) bytes, and 16 d more where each
/// rank has an error of its own. Wire: the part of one rank, (16 d/n + 4 d) bytes of `onebit_adam`, and 24
/// bytes of control to each rank. Worked number: onebit_adam, d = 3.3 million, n = 4: 26 MB from each rank.
class Snapshots {
 public:
  /// Collective. Errors: std::invalid_argument for options out of range.
  Snapshots(Optimizer& optimizer, const SnapshotOptions& options);
  /// Of a newcomer: restore_on() comes first.
  explicit Snapshots(const SnapshotOptions& options);
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;
  ~Snapshots();

  /// To be called after every step: takes a snapshot when one is due, and moves on one that travels.
  ///
  /// program: what the program needs to go on beside the optimizer. Collective in steps in which one is taken
  /// or has arrived. Errors: PeerFailure.
  void after_step(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
                  const ProgramState& program = {});
  /// Whether the next after_step() takes one, of an optimizer that has taken so many steps.
  [[nodiscard]] bool is_due(std::int64_t steps_taken) const;
  /// The same after a step where none is due: for whoever has to work for `parameters` or `program`.
  void after_step();
  /// Takes one now, and returns when all ranks have it. Collective.
  void take(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
            const ProgramState& program = {});

  struct Restored {
    std::int64_t step = 0;  ///< that the optimizer has taken
    ProgramState program;
    std::vector<int> lost;  ///< ranks of the snapshot that are no more
  };
  /// Goes on from the newest snapshot that is whole, on the ranks that are left: `optimizer` is made anew,
  /// with Communicator::survivors(). What ranks owed each other is conserved as by a checkpoint on another
  /// number of ranks, to the last bit the same. Then takes a snapshot of these ranks.
  ///
  /// Collective. May be called again, with an optimizer of the next survivors, where it failed with
  /// PeerFailure. Errors: SnapshotLost on all ranks; those of Optimizer::restore().
  Restored restore(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters);

  /// Makes the program's optimizer, and all else that belongs to a number of ranks, for these; the one before
  /// goes. Collective.
  using MakeOptimizer = std::function<Optimizer&(std::shared_ptr<Communicator> survivors)>;
  /// After a PeerFailure: asks who is left, makes the optimizer for them and restores it; all again where one
  /// more fails meanwhile.
  ///
  /// Collective over those who are left. Errors: those of Communicator::survivors() and of restore(). After
  /// SnapshotLost all have an optimizer without state, which a checkpoint can be restored into.
  Restored go_on(const ExecutionSpace& exec, Optimizer& failed, const Parameters& parameters,
                 const MakeOptimizer& make);

  /// Whether somebody had asked to join when the last snapshot was whole. The same on all ranks.
  [[nodiscard]] bool has_newcomers() const { return has_newcomers_; }
  /// Takes in those who ask to join: takes a snapshot now, which no step is lost by, has the optimizer made
  /// for all, and restores it. Nothing where nobody is left who asks: then all is as before.
  ///
  /// Where a rank fails meanwhile, the others go on as in go_on(). Collective over the ranks of the
  /// optimizer; newcomers call restore_on(). Errors: PeerFailure before they are in; then those of go_on().
  std::optional<Restored> admit(const ExecutionSpace& exec, Optimizer& optimizer,
                                const Parameters& parameters, const ProgramState& program,
                                const MakeOptimizer& make);
  /// What newcomers have to agree to: join_socket_communicator() takes it, of an optimizer that is made as
  /// those of the others, on one rank.
  [[nodiscard]] std::string kind_of(const Optimizer& optimizer) const;
  /// Has the optimizer made for these ranks and restores it: a newcomer's part in admit(), on the ranks of
  /// join_socket_communicator(). Where some of them fail meanwhile, for those who are left.
  ///
  /// Collective. Errors: those of go_on().
  Restored restore_on(const ExecutionSpace& exec, std::shared_ptr<Communicator> ranks,
                      const Parameters& parameters, const MakeOptimizer& make);

  /// The rank that keeps this rank's part; itself where it is alone.
  [[nodiscard]] int partner() const { return partner_; }
  /// Whether partners lie on other hosts: then the loss of a host is survived. The same on all ranks.
  [[nodiscard]] bool survives_hosts() const { return survives_hosts_; }
  /// Host memory that this rank holds now, and bytes that it has sent for the last snapshot.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Snapshot {
    std::int64_t number = 0;
    int ranks = 0;
    SnapshotPart own;
    SnapshotPart of_ward;
    bool has_ward = false;  ///< all of it has arrived

    [[nodiscard]] std::size_t bytes() const { return own.bytes().size() + of_ward.bytes().size(); }
  };

  /// Messages of their own between the ranks of this optimizer, and partners.
  void connect(Optimizer& optimizer);
  void begin(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
             const ProgramState& program);
  /// Sends a step's share of the pieces, or all that are left.
  void move_on(bool is_last);
  /// Sends so many more pieces, and takes what has arrived.
  void move(std::size_t pieces);
  void finish();
  struct Choice {
    int ranks = 0;          ///< of the snapshot
    std::vector<int> lost;  ///< those of them that are no more
  };
  /// Makes the newest snapshot that all ranks together have whole_.
  [[nodiscard]] Choice choose();

  SnapshotOptions options_;
  std::shared_ptr<Communicator> line_;
  int partner_ = 0;
  int ward_ = 0;
  bool survives_hosts_ = false;
  bool has_newcomers_ = false;
  std::int64_t taken_ = 0;                       ///< the number of the last snapshot that was begun
  std::int64_t taken_at_ = 0;                    ///< its step
  std::int64_t steps_under_way_ = 0;             ///< calls of after_step() since then
  std::optional<Snapshot> whole_;                ///< all ranks have all of it
  std::optional<Snapshot> next_;                 ///< on its way
  std::array<std::vector<std::byte>, 2> spare_;  ///< memory of the one before
  std::unique_ptr<Exchange> exchange_;           ///< of next_
  std::size_t piece_bytes_ = 0;
  std::size_t pieces_ = 0;  ///< to be sent
  std::size_t pieces_sent_ = 0;
  std::size_t to_arrive_ = 0;
  std::size_t bytes_sent_ = 0;
};

}  // namespace kadam::checkpoint
