// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/c_api/kadam.h>
#include <kadam/caller/caller_vectors.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/config.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/optim/optimizer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#ifdef KADAM_ENABLE_CHECKPOINT
#include <kadam/checkpoint/snapshots.hpp>
#endif

/// Everything that the functions kadam_setup_*() have set, and the first mistake, which kadam_create() and
/// kadam_create_alone() report.
struct kadam_setup {
  std::string optimizer;
  kadam::OptionMap options;
  std::vector<kadam::ParameterGroup> groups;
  kadam::TensorLayoutBuilder tensors;
  kadam_memory memory = KADAM_MEMORY_HOST;
  kadam::ExchangeOptions exchange;
  int ranks_per_node = 1;
  bool over_tcp = false;
  bool allow_alone = false;
  std::string mistake;

  /// Makes the optimizer. Collective. Errors: std::invalid_argument on a rank with a mistake, PeerFailure on
  /// the others then; those of make_optimizer().
  [[nodiscard]] std::unique_ptr<kadam::Optimizer> make(
      const std::shared_ptr<kadam::Communicator>& communicator) const;
};

/// An optimizer, and everything else that calls with pointers need.
struct kadam_optimizer {
  /// Makes the optimizer by of.make(), and keeps a copy of the setup. Collective.
  kadam_optimizer(const kadam_setup& of, const std::shared_ptr<kadam::Communicator>& communicator);

  /// Views of the caller's parameters, with their model if there is one. in(): with the caller's values;
  /// out(): to be written from scratch. Errors: NullPointer.
  [[nodiscard]] kadam::Parameters in(float* parameters);
  [[nodiscard]] kadam::Parameters out(float* parameters);
  /// Copies what kernels wrote back to the caller, where they work on copies, and calls finish().
  void give_back(const kadam::Parameters& written, float* parameters);
  /// A View of parameters that are only read.
  [[nodiscard]] kadam::Vector<const float> read(const float* parameters);
  /// A View of a gradient in the optimizer's format.
  [[nodiscard]] kadam::Gradient gradient_of(const void* data);
  [[nodiscard]] std::int64_t elements() const { return optimizer->layout().elements(); }
  /// Waits for kernels if the caller's arrays lie in host memory, which is written when a call returns.
  void finish() const {
    if (memory == KADAM_MEMORY_HOST) exec.fence("kadam::c_api: host memory");
  }

  kadam_setup setup;  ///< to make the optimizer anew for other ranks
  std::unique_ptr<kadam::Optimizer> optimizer;
#ifdef KADAM_ENABLE_CHECKPOINT
  /// Nothing before kadam_keep_snapshots() or kadam_join().
  std::optional<kadam::checkpoint::Snapshots> snapshots;
#endif
  kadam::ExecutionSpace exec;
  kadam_memory memory;
  bool copies;        ///< kernels cannot reach the caller's arrays, and work on copies
  std::string words;  ///< what kadam_words() returns
  std::string door;   ///< what kadam_door() returned last
  kadam::caller::CallerParameters arrays;

 private:
  kadam::caller::CallerArray read_;  ///< a gradient, or parameters that are only read
};

namespace kadam::c_api {

/// The optimizer of a pointer. Errors: NullPointer for NULL, Failure (KADAM_NOT_READY) unless Kokkos runs.
[[nodiscard]] kadam_optimizer& usable(kadam_optimizer* optimizer);

/// Throws Failure (KADAM_NOT_READY) unless Kokkos runs.
void require_kokkos();

/// Reports KADAM_NOT_BUILT from a call that needs checkpoints, and returns it.
kadam_status without_checkpoints(const char* call, kadam_error* error);

#ifdef KADAM_ENABLE_CHECKPOINT
/// What is saved for a program beside the state: these words; nothing for NULL. words_of() is the inverse.
[[nodiscard]] checkpoint::ProgramState program_of(const char* words);
[[nodiscard]] std::string words_of(const checkpoint::ProgramState& program);
#endif

}  // namespace kadam::c_api
