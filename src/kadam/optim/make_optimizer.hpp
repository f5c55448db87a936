// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>
#include <kadam/optim/optimizer_names.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace kadam {

/// Makes the optimizer of this name, with options by name. An option that is left out has its default
/// (optimizer_options()); one that has none must be given (OptimizerTraits::needs_warmup).
///
/// Collective: all ranks of the communicator, which agree here on algorithm, tensors and options.
/// Errors: std::invalid_argument on a rank that has an unknown name or option (lists what exists), or a value
/// out of range (says what would be right), and PeerFailure on all others then; std::invalid_argument on all
/// ranks if they disagree (says on what), and without a communicator. Wire: 24 (n - 1) bytes per rank, once.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const OptionMap& options,
                                                        TensorLayout layout,
                                                        const std::shared_ptr<Communicator>& communicator,
                                                        const std::vector<ParameterGroup>& groups = {});

/// Computes the cost of an optimizer with these options, without making one. elements: d, the length of the
/// vector; ranks: how ranks exchange, and the rank whose cost it is. The cost is that of kernels on a GPU,
/// and of the tensors of Problem::of_elements(). Needs neither MPI nor memory. Optimizer::traffic_plan() and
/// Optimizer::memory() are made from the same cost.
///
/// Errors: std::invalid_argument as make_optimizer(), and for dense_below, which needs the tensors.
[[nodiscard]] AlgorithmCost optimizer_cost(std::string_view name, const OptionMap& options,
                                           std::int64_t elements, const Arrangement& ranks);

}  // namespace kadam
