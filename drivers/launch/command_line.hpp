// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <launch/session.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name is not ours
class App;
class Option;
}  // namespace CLI

/// Command lines of all programs. They hide CLI11, whose headers take seconds in every file.
namespace kadam::launch {

/// An option with a value, as Options::add() made it. Its rules are checked when the command line is read.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  /// Refuses a command line without it.
  Option& needed();
  /// Refuses other values.
  Option& one_of(const std::vector<std::string>& words);
  /// Refuses values below least or above most.
  template <std::integral T>
  Option& range(T least, T most) {
    return range_of_integers(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most));
  }
  Option& range(double least, double most);
  /// Takes count values at once, all above 0.
  Option& positive_numbers(int count);
  /// May be given several times, with one value each time.
  Option& repeatable();
  /// Takes several values at once, as in 1,2,3.
  Option& comma_separated();

 private:
  Option& range_of_integers(std::int64_t least, std::int64_t most);

  CLI::Option* option_;
};

/// The options of a program or of one of its commands.
class Options {
 public:
  /// Of a program, with --help and --version. `usage` is the line after the description, as in
  /// "mpirun -n RANKS kadam-train [OPTIONS]".
  Options(const std::string& program, const std::string& description, const std::string& usage);

  /// An option whose value is written into `value`, which keeps its default if the option is not given. The
  /// help shows "name UNIT  help". A name without "--" is a word without a name of its own.
  ///
  /// T: std::string, std::filesystem::path, int, std::int64_t, double, a std::optional of
  /// double, std::size_t or std::string, or a std::vector of text, paths or std::int64_t.
  template <class T>
  Option add(const std::string& name, const std::string& unit, T& value, const std::string& help);
  /// An option without a value: true if it is given.
  void add_flag(const std::string& name, bool& value, const std::string& help);
  /// Text behind the options.
  void set_footer(const std::string& text);

  /// A command: it has options and a help of its own.
  [[nodiscard]] Options add_command(const std::string& name, const std::string& description,
                                    const std::string& usage);
  /// Refuses a command line without exactly one command.
  void need_command();
  /// Whether the command line has this command.
  [[nodiscard]] bool is_chosen() const;

  /// Reads the command line on every rank; rank 0 alone prints the help, the version or an error.
  /// Returns the exit code when the program is to end here, on all ranks the same.
  [[nodiscard]] std::optional<int> parse(const Session& session, int argc, char** argv);
  /// The same in a program of one process, which has no session.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

 private:
  explicit Options(std::shared_ptr<CLI::App> command) : app_(std::move(command)) {}

  std::shared_ptr<CLI::App> app_;
};

/// What --version prints: the version, the compiler, Kokkos and its spaces, MPI.
[[nodiscard]] std::string build_info(const std::string& program);

}  // namespace kadam::launch
