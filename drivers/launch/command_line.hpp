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

/// Command lines of all programs. They hide CLI11, whose headers take seconds to compile in every file.
namespace kadam::launch {

/// An option with a value, from Options::add(). Each rule is checked when the command line is read. Valid as
/// long as its Options.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  /// Refuses a command line without this option.
  Option& needed();
  /// Refuses values other than these words.
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
  /// Options of a program, --help and --version among them. `usage` is the line after the description, as in
  /// "mpirun -n RANKS kadam-train [OPTIONS]".
  Options(const std::string& program, const std::string& description, const std::string& usage);

  /// Adds an option. parse() writes its value into `value`, which must live until then and keeps its default
  /// if the option is not given. The help shows "name UNIT  help". A name without "--" makes a positional
  /// argument.
  ///
  /// T: std::string, std::filesystem::path, int, std::int64_t, double, a std::optional of
  /// double, std::size_t or std::string, or a std::vector of text, paths or std::int64_t.
  template <class T>
  Option add(const std::string& name, const std::string& unit, T& value, const std::string& help);
  /// Adds an option without a value: parse() sets `value` to true if it is given.
  void add_flag(const std::string& name, bool& value, const std::string& help);
  /// Sets the text after the options in the help.
  void set_footer(const std::string& text);

  /// Adds a command; returns its options, which have their own --help.
  [[nodiscard]] Options add_command(const std::string& name, const std::string& description,
                                    const std::string& usage);
  /// Refuses a command line without exactly one command.
  void need_command();
  /// Whether the command line has this command.
  [[nodiscard]] bool is_chosen() const;

  /// Reads the command line on every rank; rank 0 alone prints the help, the version or an error.
  /// Returns an exit code if the program ends here, the same on all ranks; nothing: go on.
  [[nodiscard]] std::optional<int> parse(const Session& session, int argc, char** argv);
  /// parse() of a program of one process, which has no session.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

 private:
  explicit Options(std::shared_ptr<CLI::App> command) : app_(std::move(command)) {}

  std::shared_ptr<CLI::App> app_;
};

/// What --version prints: the version, the compiler, Kokkos and its spaces, MPI.
[[nodiscard]] std::string build_info(const std::string& program);

}  // namespace kadam::launch
