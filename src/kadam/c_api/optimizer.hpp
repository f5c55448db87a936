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

/// What kadam_setup_*() were told. The first mistake is kept for kadam_create(), which has somebody to tell.
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

  /// Errors: std::invalid_argument with the first mistake. Collective, as make_optimizer().
  [[nodiscard]] std::unique_ptr<kadam::Optimizer> make(
      const std::shared_ptr<kadam::Communicator>& communicator) const;
};

/// An optimizer, and what calls with pointers need beside it.
struct kadam_optimizer {
  /// Collective, as make_optimizer().
  kadam_optimizer(const kadam_setup& of, const std::shared_ptr<kadam::Communicator>& communicator);

  /// The caller's parameters, with their model if there is one: to be read and written, to be written.
  [[nodiscard]] kadam::Parameters in(float* parameters);
  [[nodiscard]] kadam::Parameters out(float* parameters);
  void give_back(const kadam::Parameters& written, float* parameters);
  /// Parameters that are read alone.
  [[nodiscard]] kadam::Vector<const float> read(const float* parameters);
  /// A gradient in the optimizer's format.
  [[nodiscard]] kadam::Gradient gradient_of(const void* data);
  [[nodiscard]] std::int64_t elements() const { return optimizer->layout().elements(); }
  /// What host memory is promised: that all is done.
  void finish() const {
    if (memory == KADAM_MEMORY_HOST) exec.fence("kadam::c_api: host memory");
  }

  kadam_setup setup;  ///< for other ranks
  std::unique_ptr<kadam::Optimizer> optimizer;
#ifdef KADAM_ENABLE_CHECKPOINT
  std::optional<kadam::checkpoint::Snapshots> snapshots;  ///< if they are wanted
#endif
  kadam::ExecutionSpace exec;
  kadam_memory memory;
  bool copies;        ///< kernels cannot reach the caller's arrays
  std::string words;  ///< of the checkpoint or snapshot that was loaded
  std::string door;
  kadam::caller::CallerParameters arrays;

 private:
  kadam::caller::CallerArray read_;  ///< a gradient, or parameters that are read alone
};

namespace kadam::c_api {

/// Errors: std::invalid_argument for NULL, Failure if Kokkos does not run any more.
[[nodiscard]] kadam_optimizer& usable(kadam_optimizer* optimizer);

/// Errors: Failure unless Kokkos runs.
void require_kokkos();

/// KADAM_NOT_BUILT, of a call that needs checkpoints.
kadam_status without_checkpoints(const char* call, kadam_error* error);

#ifdef KADAM_ENABLE_CHECKPOINT
/// The words of a program beside the state; NULL: none.
[[nodiscard]] checkpoint::ProgramState program_of(const char* words);
[[nodiscard]] std::string words_of(const checkpoint::ProgramState& program);
#endif

}  // namespace kadam::c_api
