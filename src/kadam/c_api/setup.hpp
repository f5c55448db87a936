// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/c_api/kadam.h>
#include <kadam/comm/communicator.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <memory>
#include <string>
#include <vector>

/// What kadam_setup_*() were told. The first mistake is kept for kadam_create(), which has somebody to tell.
struct kadam_setup {
  std::string optimizer;
  kadam::OptionMap options;
  std::vector<kadam::ParameterGroup> groups;
  kadam::TensorLayoutBuilder tensors;
  kadam_memory memory = KADAM_MEMORY_HOST;
  kadam::ExchangeOptions exchange;
  int ranks_per_node = 1;
  std::string mistake;

  /// Errors: std::invalid_argument with the first mistake. Collective, as make_optimizer().
  [[nodiscard]] std::unique_ptr<kadam::Optimizer> make(
      const std::shared_ptr<kadam::Communicator>& communicator) const;
};
