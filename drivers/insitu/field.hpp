// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/decomposition.hpp>
#include <kadam/execution.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace kadam::insitu {

/// u and v.
inline constexpr int species = 2;

/// What a rank holds of both species: [species][y][x], its block with a halo of cells of other blocks around
/// it, in somebody's memory or its own.
using Field = Kokkos::View<double***, Kokkos::LayoutRight, MemorySpace>;
/// A field as the host holds it: [species][y][x] without halo.
using HostField = Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Filled with zeros by exec. Memory: 16 B per cell, halo included.
[[nodiscard]] inline Field make_field(const ExecutionSpace& exec, const std::string& label,
                                      const Block& block, std::int64_t halo) {
  return Field(Kokkos::view_alloc(exec, label), static_cast<std::size_t>(species),
               static_cast<std::size_t>(block.height + 2 * halo),
               static_cast<std::size_t>(block.width + 2 * halo));
}

/// The block's own cells of fields with halos of any width. Enqueued on exec. Memory: 32 B per cell.
void copy_cells(const ExecutionSpace& exec, const Block& block, const Field& from, std::int64_t from_halo,
                const Field& to, std::int64_t to_halo);

}  // namespace kadam::insitu
