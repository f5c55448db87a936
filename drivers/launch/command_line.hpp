// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <launch/session.hpp>
#include <memory>
#include <optional>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the name is not ours
class App;
}

namespace kadam::launch {

/// A command line with --help and --version, in the voice of all programs. `usage` is the line after the
/// description, as in "mpirun -n RANKS kadam-train [OPTIONS]".
[[nodiscard]] std::shared_ptr<CLI::App> make_command_line(const std::string& program,
                                                          const std::string& description,
                                                          const std::string& usage);

/// Of a command of a program, which else has the program's.
void set_usage(CLI::App& app, const std::string& usage);

/// Parses on every rank; rank 0 alone prints the help, the version or what is wrong.
/// Returns the exit code when the program is to end here, on all ranks the same.
[[nodiscard]] std::optional<int> parse(CLI::App& app, const Session& session, int argc, char** argv);
/// The same in a program of one process, which has no session.
[[nodiscard]] std::optional<int> parse(CLI::App& app, int argc, char** argv);

}  // namespace kadam::launch
