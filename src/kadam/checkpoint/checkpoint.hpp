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

/// Nothing lost: all that an optimizer needs to go on as if it had never stopped, in a folder of files.
///
///   FOLDER/step-000000001200/     a checkpoint; older ones beside it
///     state-0-of-4.safetensors    what rank 0 holds: one file per rank
///     parameters.safetensors      the parameters by tensor, for other programs: what flush() would leave
///     MANIFEST                    what there is, with checksums (see Manifest): written last
///
/// A checkpoint is written beside its place and renamed when all of it is on the disk; only then an older one
/// goes. Vectors that all ranks have in common are shared out, each rank writes a part: for n ranks there are
/// 4 d of parameters, twice, the vectors in common once, and n times what each rank has of its own.
namespace kadam::checkpoint {

/// Words of the program that saves, kept in the checkpoint: what it needs to go on beside the optimizer.
using ProgramState = io::Metadata;

/// Saves the state of an optimizer and its parameters after so many steps, and returns the new folder.
///
/// keep: how many checkpoints stay in `folder`, the new one included; 0: all. Later ones that lie there are
/// of a past that was left: they are renamed to step-….set-aside, and looked at no more. Collective; the
/// folder is one that all ranks see. Wire: one dense mean at most (Optimizer::write_consensus). Errors:
/// std::runtime_error, on all ranks, with the file and the system's reason; the optimizer is then as before.
std::filesystem::path save(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
                           const std::filesystem::path& folder, const ProgramState& program = {},
                           int keep = 2);

struct Restored {
  std::filesystem::path path;
  std::int64_t step = 0;  ///< that the optimizer has taken
  ProgramState program;
};

/// Goes on from one checkpoint: see Optimizer::restore(). All files are read and checked first.
///
/// Collective. Errors: std::runtime_error, on all ranks, that names the file that is missing, was changed or
/// does not belong there, or says what of model or algorithm is another.
Restored restore(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters,
                 const std::filesystem::path& checkpoint);

/// Told, on rank 0, of a checkpoint that is passed over because it is not whole, and why.
using PassedOver = std::function<void(const std::filesystem::path&, const std::string& why)>;

/// The same with the newest checkpoint in `folder` that is whole; nothing if there is none at all. Errors:
/// std::runtime_error as well if there are some and none is whole.
std::optional<Restored> restore_newest(const ExecutionSpace& exec, Optimizer& optimizer,
                                       const Parameters& parameters, const std::filesystem::path& folder,
                                       const PassedOver& passed_over = {});

}  // namespace kadam::checkpoint
