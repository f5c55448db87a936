// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-bench: kernels against the memory's speed, exchanges against the network's, steps of optimizers,
/// and how these grow with the number of ranks.

#include <bench/commands.hpp>
#include <launch/command_line.hpp>
#include <launch/session.hpp>

namespace kadam::bench {
namespace {

int run(launch::Session& session, int argc, char** argv) {
  launch::Options options(
      "kadam-bench",
      "Measures kernels against the speed of the memory (in one process), exchanges between ranks against\n"
      "the speed of a wire, or whole steps of every optimizer; or counts the work of one rank of many.",
      "kadam-bench kernels [--elements N] [--threads N] [--json]\n"
      "       mpirun -n RANKS kadam-bench exchange [--elements LIST] [--rate RATE] [--json]\n"
      "       mpirun -n RANKS kadam-bench steps [--elements N] [--tensors LIST] [--json]\n"
      "       kadam-bench growth [--elements N] [--ranks LIST] [--json]");
  KernelsCommand kernels(options);
  ExchangeCommand exchange(options);
  StepsCommand steps(options);
  GrowthCommand growth(options);
  options.need_command();
  if (const auto code = options.parse(session, argc, argv)) return *code;
  if (kernels.is_chosen()) return kernels.run(session);
  if (exchange.is_chosen()) return exchange.run(session);
  return steps.is_chosen() ? steps.run(session) : growth.run(session);
}

}  // namespace
}  // namespace kadam::bench

int main(int argc, char** argv) {
  kadam::bench::KernelsCommand::set_threads(argc, argv);
  return kadam::launch::run_program("kadam-bench", argc, argv, kadam::bench::run);
}
