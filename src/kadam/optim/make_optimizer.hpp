// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>
#include <kadam/optim/optimizer_names.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace kadam {

/// An optimizer by name, with options by name; what is left out has the paper's default.
///
/// Collective: all ranks of the communicator, which agree here on algorithm, tensors and options.
/// Errors: where a rank has an unknown name or option (lists what exists), or a value out of range (says what
/// would be right): std::invalid_argument there, PeerFailure on all others. std::invalid_argument on all if
/// ranks disagree (says on what), and without a communicator. Wire: (n - 1) 64 bytes per rank, once.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const OptionMap& options,
                                                        TensorLayout layout,
                                                        const std::shared_ptr<Communicator>& communicator,
                                                        const std::vector<ParameterGroup>& groups = {});

/// What an optimizer with these options costs, without making one: rank 0 of these ranks, with a vector of so
/// many elements, on a GPU. Needs neither MPI nor memory. Bytes are those of Optimizer::traffic_plan(),
/// memory is that of Optimizer::memory(): both are made from this.
///
/// Errors: std::invalid_argument as make_optimizer(), and for dense_below, which needs the tensors.
[[nodiscard]] AlgorithmCost optimizer_cost(std::string_view name, const OptionMap& options,
                                           std::int64_t elements, const Arrangement& ranks);

}  // namespace kadam
