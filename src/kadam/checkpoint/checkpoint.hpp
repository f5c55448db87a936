// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/tensor_file.hpp>
#include <kadam/optim/optimizer.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

/// Checkpoints: folders of files with everything that an optimizer needs to go on as if it had never stopped.
///
///   FOLDER/step-000000001200/     a checkpoint; older ones beside it
///     state-0-of-4.safetensors    what rank 0 holds: one file per rank
///     parameters.safetensors      the parameters by tensor, for other programs: what flush() would leave
///     MANIFEST                    what there is, with checksums (see Manifest): written last
///
/// A checkpoint is written beside its place and renamed when all of it is on the disk; only then an older one
/// goes. Of a vector that all ranks have in common, each rank writes a part. So for n ranks the files hold
/// the parameters (4 d bytes) twice, the vectors in common once, and n times the vectors that each rank has
/// for itself.
namespace kadam::checkpoint {

/// Texts of the program, by name, which a checkpoint keeps: what the program needs to go on, beside the
/// optimizer.
using ProgramState = io::Metadata;

/// Saves the state of an optimizer and its parameters in a new folder, step-... in `folder`, and returns its
/// path.
///
/// keep: how many checkpoints stay in `folder`, the new one included; 0: all. If checkpoints of later steps
/// lie there, this run has gone back to an earlier step: they are renamed to step-….set-aside, and looked at
/// no more. A checkpoint of this very step is replaced. Collective; all ranks must see the folder. Wire: one
/// dense mean at most (Optimizer::write_consensus). Errors: std::runtime_error, with the file and the
/// system's reason, on the ranks that cannot write; PeerFailure, which names one of these, on the others,
/// though no rank has ended. The optimizer is then as before.
std::filesystem::path save(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
                           const std::filesystem::path& folder, const ProgramState& program = {},
                           int keep = 2);

/// The checkpoint that was restored.
struct Restored {
  std::filesystem::path path;
  std::int64_t step = 0;  ///< number of steps that the optimizer has taken
  ProgramState program;
};

/// Restores an optimizer and its parameters from the checkpoint in the folder `checkpoint`: see
/// Optimizer::restore(). Reads and checks all files first.
///
/// Collective. Errors: std::runtime_error, which names the file that is missing, was changed or belongs to
/// another checkpoint, or says in what the model or the algorithm differs, on the ranks that find it;
/// PeerFailure, which names one of these, on the others; std::invalid_argument if ranks see different
/// checkpoints.
Restored restore(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters,
                 const std::filesystem::path& checkpoint);

/// Called on rank 0 for each checkpoint that is passed over because it is not whole, with its path and the
/// reason.
using PassedOver = std::function<void(const std::filesystem::path&, const std::string& why)>;

/// Restores the newest whole checkpoint in `folder`, as restore() does; returns nothing if there is no
/// checkpoint at all. Collective. Errors: as restore(), and std::runtime_error if there are checkpoints and
/// none is whole.
std::optional<Restored> restore_newest(const ExecutionSpace& exec, Optimizer& optimizer,
                                       const Parameters& parameters, const std::filesystem::path& folder,
                                       const PassedOver& passed_over = {});

}  // namespace kadam::checkpoint
