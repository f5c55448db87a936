// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <optim/optimizer_cases.hpp>
#include <reference/make_reference.hpp>
#include <support/random_vectors.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace kadam::test {

/// A run of a case over simulated ranks: the gradients, and all that a distributed run must equal.
struct SimulatedRun {
  std::vector<float> start;
  std::vector<reference::Ranks> gradients;   ///< of each step
  std::vector<reference::Ranks> parameters;  ///< after it
  std::vector<reference::Ranks> consensus;   ///< what flush() would leave, or leaves, after it
  std::size_t altered_elements = 0;          ///< of gradients, in all steps
  std::string undecided = {};                ///< elements about which rounding decides in spite of that
};

inline reference::Options reference_options(const OptionMap& options) {
  reference::Options same;
  for (const auto& [name, value] : options) {
    if (const auto* words = std::get_if<std::string>(&value)) {
      same[name] = *words;
    } else if (const auto* list = std::get_if<std::vector<double>>(&value)) {
      same[name] = *list;
    } else if (const auto* number = std::get_if<double>(&value)) {
      same[name] = *number;
    } else if (const auto* count = std::get_if<std::int64_t>(&value)) {
      same[name] = static_cast<double>(*count);
    } else {
      same[name] = std::get<bool>(value) ? 1.0 : 0.0;
    }
  }
  return same;
}

inline reference::World world_of(const OptimizerCase& optimizer_case, const TensorLayout& layout, int ranks,
                                 int ranks_per_node) {
  reference::World world{ranks, layout.elements(), {}, ranks_per_node, {}};
  for (const Tensor& tensor : layout.tensors()) {
    world.tensors.push_back(
        {tensor.begin, tensor.end, tensor.name, 1.0, {}, false, tensor.shape, tensor.spectral});
  }
  for (const ParameterGroup& group : optimizer_case.groups) {
    world.groups.push_back({group.tensors, group.lr_scale, group.weight_decay, group.dense});
  }
  return world;
}

/// Random gradients, but none about which only rounding would decide how an element is coded, selected or
/// rounded: where the reference says so of an element, its gradient is altered until it no longer does.
/// So a distributed run has no excuse for any element.
inline SimulatedRun simulate(const OptimizerCase& optimizer_case, const TensorLayout& layout, int ranks,
                             int ranks_per_node, const std::string& format) {
  SimulatedRun run;
  run.start = random_vector(layout.elements(), 2);
  const auto rounding = reference::Format::named(format);
  auto simulation = reference::make_reference(optimizer_case.name, reference_options(optimizer_case.options),
                                              world_of(optimizer_case, layout, ranks, ranks_per_node));
  reference::Ranks working(static_cast<std::size_t>(ranks), run.start);
  for (std::int64_t t = 1; t <= steps_per_case; ++t) {
    reference::Ranks gradients;
    for (int r = 0; r < ranks; ++r) {
      gradients.push_back(rounding.rounded(random_gradient(layout.elements(), r, t)));
    }
    const reference::Simulation simulation_before = simulation;
    const reference::Ranks working_before = working;
    simulation.step(working, gradients);
    for (int attempt = 0; attempt < 20 && !simulation.undecided().empty(); ++attempt) {
      // Another sign changes no norm by which gradients are clipped, so nothing else; but not always enough.
      const float more = attempt % 2 == 0 ? 0.0F : 0.3F;
      for (const std::size_t i : simulation.undecided()) {
        for (auto& g : gradients) g[i] = rounding.rounded(more - g[i]);
      }
      run.altered_elements += simulation.undecided().size();
      simulation = simulation_before;
      working = working_before;
      simulation.step(working, gradients);
    }
    if (!simulation.undecided().empty()) {
      const std::string count = std::to_string(simulation.undecided().size());
      run.undecided.append(" ").append(count).append(" elements in step ").append(std::to_string(t));
    }
    run.gradients.push_back(gradients);
    run.parameters.push_back(working);
    reference::Simulation flushed = simulation;
    run.consensus.push_back(working);
    flushed.flush(run.consensus.back());
    if (t == optimizer_case.flush_after) {
      simulation = flushed;
      working = run.consensus.back();
    }
  }
  return run;
}

}  // namespace kadam::test
