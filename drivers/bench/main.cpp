// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-bench: what the kernels reach of the memory's speed, and exchanges of the network's.

#include <bench/commands.hpp>
#include <launch/command_line.hpp>
#include <launch/session.hpp>

namespace kadam::bench {
namespace {

int run(launch::Session& session, int argc, char** argv) {
  launch::Options options(
      "kadam-bench",
      "Measures the kernels against the speed of the memory, in one process, or the exchanges between ranks\n"
      "against the speed of a wire.",
      "kadam-bench kernels [--elements N] [--threads N] [--json]\n"
      "       mpirun -n RANKS kadam-bench exchange [--elements LIST] [--rate RATE] [--json]");
  KernelsCommand kernels(options);
  ExchangeCommand exchange(options);
  options.need_command();
  if (const auto code = options.parse(session, argc, argv)) return *code;
  return kernels.is_chosen() ? kernels.run(session) : exchange.run(session);
}

}  // namespace
}  // namespace kadam::bench

int main(int argc, char** argv) {
  kadam::bench::KernelsCommand::set_threads(argc, argv);
  return kadam::launch::run_program("kadam-bench", argc, argv, kadam::bench::run);
}
