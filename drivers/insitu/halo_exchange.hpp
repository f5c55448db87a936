// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/field.hpp>
#include <insitu/process_grid.hpp>

#include <array>
#include <cstddef>
#include <memory>

namespace kadam::insitu {

/// Fills the halo of fields with the cells of neighbouring blocks, corners included: first left and right,
/// then above and below with what came from the sides. Both species travel in one message.
///
/// One axis at a time has at most two messages to send and two to receive, persistent requests on buffers
/// that kernels pack and unpack, staged through pinned host memory where MPI takes no device memory. A block
/// that is its own neighbour copies. Memory: what is sent and received. Wire: bytes_sent().
class HaloExchange {
 public:
  /// Collective. The blocks of all ranks have at least `halo` cells in each direction.
  HaloExchange(const ExecutionSpace& exec, const ProcessGrid& grid, std::int64_t halo);

  /// Waits for exec and for the neighbours; the halo is written by kernels on exec. Collective.
  void operator()(const ExecutionSpace& exec, const Field& field);

  [[nodiscard]] std::int64_t halo() const { return halo_; }
  /// By this rank to others in one call. Worked number: 4 ranks, 64 x 64 cells, halo 1: 2 * 2 * 8 * (32 +
  /// 34).
  [[nodiscard]] std::size_t bytes_sent() const;

  /// A rectangle of cells of a field, counted from its first one, halo included.
  struct Strip {
    std::int64_t x = 0;
    std::int64_t y = 0;
    std::int64_t width = 0;
    std::int64_t height = 0;
  };

 private:
  using HostBuffer = Kokkos::View<double*, Kokkos::SharedHostPinnedSpace>;

  /// Index 0: the lower side (left, above); 1: the upper one.
  struct Side {
    Strip inner;  ///< of the own cells, wanted by the neighbour
    Strip outer;  ///< of the halo
    Vector<double> to;
    Vector<double> from;  ///< of a block that is its own neighbour: the `to` of the other side
    HostBuffer host_to;   ///< if staged
    HostBuffer host_from;
  };
  struct Direction {
    std::array<Side, 2> sides;
    std::unique_ptr<NeighbourMessages> messages;  ///< none: copies
  };

  [[nodiscard]] Direction make_direction(const ExecutionSpace& exec, const ProcessGrid& grid,
                                         Axis axis) const;
  void exchange(const ExecutionSpace& exec, const Field& field, Direction& direction) const;

  std::int64_t halo_;
  bool staged_;
  std::array<Direction, 2> directions_;  ///< x, then y
};

}  // namespace kadam::insitu
