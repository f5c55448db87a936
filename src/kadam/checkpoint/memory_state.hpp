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

/// A copy in memory of everything that one rank holds of an optimizer, parameters included: for a program
/// that goes back some steps, or keeps states in its own files. It can be restored into the same kind of
/// optimizer on the same rank of the same number of ranks, with the same number of ranks per node. (A
/// checkpoint of save() can be restored on any number of ranks.)
struct MemoryState {
  io::Metadata words;  ///< optimizer, model and rank, the state's numbers, placements of vectors
  std::map<std::string, std::vector<std::byte>> vectors;  ///< float32, or codes of messages
};

/// Copies the state and the parameters into memory. Collective. Waits for exec. Memory: that of both.
[[nodiscard]] MemoryState save_in_memory(const ExecutionSpace& exec, Optimizer& optimizer,
                                         const Vector<float>& parameters);

/// Restores a state. Training goes on to the last bit; if options differ, the state is restored as
/// Optimizer::restore() does.
///
/// Writes parameters, and their model. Collective: each rank passes its own state. Errors: std::runtime_error
/// if the state is of another optimizer, model, rank, number of ranks or of ranks per node, or lacks
/// something; PeerFailure on ranks whose own state fits.
void restore_from_memory(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters,
                         const MemoryState& state);

}  // namespace kadam::checkpoint
