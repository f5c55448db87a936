// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/field.hpp>
#include <kadam/comm/communicator.hpp>

namespace kadam::insitu {

/// √(1/2 Σ_species |prediction - truth|^2 / |truth|^2), norms over all cells of the grid: the root mean
/// square of the relative L2 errors of u and v. Both fields have a halo of this width. The same on all ranks;
/// collective.
[[nodiscard]] double relative_error(const ExecutionSpace& exec, Communicator& communicator,
                                    const Block& block, const Field& prediction, const Field& truth,
                                    std::int64_t halo);

}  // namespace kadam::insitu
