// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/optimizer.hpp>
#include <launch/quantities.hpp>
#include <launch/session.hpp>
#include <train/banner.hpp>

#include <fmt/format.h>

namespace kadam::train {

std::string banner(const Configuration& configuration, const workloads::Dataset& data,
                   const Communicator& program) {
  const TrainingOptions& training = configuration.training;
  return fmt::format("{}\ndata      {}\ntraining  {} steps of {} x {} examples, seed {}\n",
                     launch::title_line(program), data.description(), training.steps, program.size(),
                     training.batch * training.accumulate, training.seed);
}

std::string banner_of(const Optimizer& optimizer, const Configuration& configuration) {
  const auto text_of = [](std::size_t bytes) { return launch::bytes_text(static_cast<double>(bytes)); };
  const std::int64_t d = optimizer.layout().elements();
  const MemoryUse memory = optimizer.memory();
  const double gradients = configuration.training.accumulate > 1 ? 2.0 : 1.0;
  return fmt::format("\n{}: {} of d = {} parameters in {} tensors\n", optimizer.name(),
                     configuration.model.kind, launch::grouped(d), optimizer.layout().tensors().size()) +
         fmt::format(
             "  memory per rank: parameters (twice) and gradient {}, optimizer state {}, messages {}\n",
             launch::bytes_text((2.0 + gradients) * 4.0 * static_cast<double>(d)),
             text_of(memory.state_bytes), text_of(memory.workspace_bytes)) +
         fmt::format("  sent by a rank: {}\n", launch::traffic_text(optimizer.traffic_plan()));
}

}  // namespace kadam::train
