// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/tensor_file.hpp>
#include <kadam/optim/optimizer.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace kadam::checkpoint {

/// All that one rank holds of an optimizer, parameters included, in memory: for a program that goes back some
/// steps, or keeps states in files of its own. It goes back to the same optimizer on the same rank of as
/// many; what save() writes goes to any number of ranks.
struct MemoryState {
  io::Metadata words;  ///< whose it is, its numbers, and where vectors lie among the ranks
  std::map<std::string, std::vector<std::byte>> vectors;  ///< float32, or codes of messages
};

/// Waits for exec. Memory: a copy of the state, and of the parameters.
[[nodiscard]] MemoryState save_in_memory(const ExecutionSpace& exec, Optimizer& optimizer,
                                         const Vector<float>& parameters);

/// Goes on from it to the last bit; from one of other options as Optimizer::restore() does.
///
/// Writes parameters, and their model. Collective. Errors: std::runtime_error, on all ranks, if the state is
/// of another optimizer, model, rank or number of ranks, or lacks something.
void restore_from_memory(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters,
                         const MemoryState& state);

}  // namespace kadam::checkpoint
