// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <mpi.h>

#include <cstdint>
#include <string>

namespace gray_scott {

using kadam::ExecutionSpace;
using kadam::MemorySpace;

/// The number of species: u and v.
inline constexpr int species = 2;

/// A rank's part of both species: [row][species][column]. Halos, rows of other ranks, lie before and after
/// its own rows. Columns are periodic: the one before the first is the last.
using Field = Kokkos::View<double***, Kokkos::LayoutRight, MemorySpace>;
/// The whole grid on the host: [row][species][column], without halos.
using HostField = Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// This rank's rows of a periodic grid, and their exchange with other ranks. It has its own communicator;
/// messages hold rows as they lie in the field.
class Slab {
 public:
  /// halo: rows of other ranks on each side of a field. is_staged: messages pass through host memory.
  /// Collective on `program`. Errors: std::invalid_argument where a rank would have fewer than `halo` rows.
  Slab(MPI_Comm program, std::int64_t width, std::int64_t height, std::int64_t halo, bool is_staged);
  ~Slab() { MPI_Comm_free(&ranks_); }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t rows() const { return begin_of(rank_ + 1) - first_row(); }
  /// Number of this rank's first row in the whole grid.
  [[nodiscard]] std::int64_t first_row() const { return begin_of(rank_); }
  [[nodiscard]] std::int64_t halo() const { return halo_; }

  /// Makes a field of zeros, filled by exec. Memory: 16 B per cell, halos included.
  [[nodiscard]] Field make_field(const ExecutionSpace& exec, const std::string& label) const;
  /// Fills the `count` rows above and below this rank's rows with those of the neighbours. Waits for exec and
  /// for the neighbours. Collective. Wire: bytes_sent(count).
  void exchange(const ExecutionSpace& exec, const Field& field, std::int64_t count) const;
  /// Bytes that a rank sends in exchange(); 0 if it is alone. Worked number: 192 columns, 1 row: 2 * 2 * 8 *
  /// 192.
  [[nodiscard]] std::int64_t bytes_sent(std::int64_t count) const;
  /// Puts the whole grid together, on every rank. Collective.
  [[nodiscard]] HostField gather(const Field& field) const;

 private:
  [[nodiscard]] std::int64_t begin_of(int rank) const { return height_ * rank / size_; }

  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::int64_t width_;
  std::int64_t height_;
  std::int64_t halo_;
  bool is_staged_;
  Kokkos::View<double*, Kokkos::SharedHostPinnedSpace> host_;  ///< buffers of four messages, if staged
};

}  // namespace gray_scott
