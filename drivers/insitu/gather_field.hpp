// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/field.hpp>
#include <insitu/process_grid.hpp>
#include <kadam/comm/communicator.hpp>

namespace kadam::insitu {

/// The whole grid, put together from the blocks of all ranks, on every rank. Collective. Wire: (n - 1) times
/// the own block. Memory: twice the whole grid.
[[nodiscard]] HostField gather_field(const ExecutionSpace& exec, Communicator& communicator,
                                     const ProcessGrid& grid, const Field& field, std::int64_t halo);

}  // namespace kadam::insitu
