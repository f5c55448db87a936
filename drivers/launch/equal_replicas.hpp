// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>

#include <cstdint>

namespace kadam::launch {

/// All ranks decode the same bytes: if their parameters ever differ, something is broken and nothing that
/// follows means anything. Compares the parameters of all ranks bit by bit, through a hash of 8 bytes, and
/// returns it. Collective. Errors: std::runtime_error on all ranks where they differ.
std::uint64_t require_equal_replicas(Communicator& communicator, const ExecutionSpace& exec,
                                     const Vector<float>& parameters);

}  // namespace kadam::launch
