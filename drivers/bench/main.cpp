// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-bench: kernels against the memory's speed, exchanges against the network's, steps of optimizers.

#include <bench/commands.hpp>
#include <launch/command_line.hpp>
#include <launch/session.hpp>

namespace kadam::bench {
namespace {

int run(launch::Session& session, int argc, char** argv) {
  launch::Options options(
      "kadam-bench",
      "Measures the kernels against the speed of the memory, in one process, the exchanges between ranks\n"
      "against the speed of a wire, or whole steps of every optimizer.",
      "kadam-bench kernels [--elements N] [--threads N] [--json]\n"
      "       mpirun -n RANKS kadam-bench exchange [--elements LIST] [--rate RATE] [--json]\n"
      "       mpirun -n RANKS kadam-bench steps [--elements N] [--tensors LIST] [--json]");
  KernelsCommand kernels(options);
  ExchangeCommand exchange(options);
  StepsCommand steps(options);
  options.need_command();
  if (const auto code = options.parse(session, argc, argv)) return *code;
  if (kernels.is_chosen()) return kernels.run(session);
  return exchange.is_chosen() ? exchange.run(session) : steps.run(session);
}

}  // namespace
}  // namespace kadam::bench

int main(int argc, char** argv) {
  kadam::bench::KernelsCommand::set_threads(argc, argv);
  return kadam::launch::run_program("kadam-bench", argc, argv, kadam::bench::run);
}
