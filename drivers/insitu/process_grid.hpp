// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/decomposition.hpp>
#include <kadam/comm/communicator.hpp>

#include <array>
#include <cstddef>
#include <memory>

namespace kadam::insitu {

enum class Axis { x, y };

/// Memory of the four messages of a rank along one axis: what is sent to the lower and the upper neighbour,
/// what comes from them. All of the same length.
struct NeighbourBuffers {
  std::array<const std::byte*, 2> to{};
  std::array<std::byte*, 2> from{};
  std::size_t bytes = 0;
};

/// These messages, again and again out of the same memory: persistent requests.
class NeighbourMessages {
 public:
  virtual ~NeighbourMessages() = default;
  /// The memory may neither be read nor written until wait() returns.
  virtual void start() = 0;
  virtual void wait() = 0;
};

/// The ranks as a periodic rectangle of blocks, with a communicator of its own that only halos travel over.
/// The one file of the program that knows MPI, beside launch/.
class ProcessGrid {
 public:
  /// Collective: by all ranks of the program. `program` says who they are and whether messages are staged.
  ProcessGrid(const Decomposition& decomposition, const Communicator& program);
  ~ProcessGrid();
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  [[nodiscard]] const Decomposition& decomposition() const { return decomposition_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] Block block() const { return decomposition_.block(rank_); }
  /// Whether both neighbours along the axis are this rank itself.
  [[nodiscard]] bool is_own_neighbour(Axis axis) const {
    return (axis == Axis::x ? decomposition_.columns() : decomposition_.rows()) == 1;
  }
  [[nodiscard]] bool stages_through_host() const { return staged_; }

  /// Not for an axis on which is_own_neighbour(). Collective: by the ranks along the axis.
  [[nodiscard]] std::unique_ptr<NeighbourMessages> messages(Axis axis, const NeighbourBuffers& buffers) const;

 private:
  struct Cartesian;

  Decomposition decomposition_;
  int rank_;
  bool staged_;
  std::unique_ptr<Cartesian> cartesian_;
};

/// A communicator for the gradients of the surrogate, of the same ranks and with the same options as
/// `program`: what it sends never meets a halo. Collective.
[[nodiscard]] std::shared_ptr<Communicator> make_training_communicator(Communicator& program);

}  // namespace kadam::insitu
