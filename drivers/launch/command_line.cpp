// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/config.hpp>
#include <kadam/execution.hpp>
#include <kadam/version.hpp>
#include <launch/command_line.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#ifdef KADAM_ENABLE_MPI
#include <mpi.h>
#endif

namespace kadam::launch {
namespace {

/// CLI11's help with lines of our own.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) { column_width(24); }
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "\nUsage: " + usage_ + "\n";
  }
  /// The name of the value alone: how many there may be, and which, the text says.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? "" : " " + type.substr(0, type.find(':'));
  }

 private:
  std::string usage_;
};

std::optional<int> parse_and_say(CLI::App& app, bool says, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& wish) {  // --help or --version
    if (says) app.exit(wish);
    return exit_success;
  } catch (const CLI::ParseError& error) {
    if (says) {
      fmt::print(stderr, "{0}: {1}; see {0} --help\n", app.get_name(), error.what());
      std::fflush(stderr);
    }
    return exit_usage;
  }
}

/// Clang's own text begins with its name.
constexpr const char* compiler =
#if defined(__GNUC__) && !defined(__clang__)
    "g++ " __VERSION__;
#else
    __VERSION__;
#endif

std::string mpi_version() {
#ifdef KADAM_ENABLE_MPI
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  // Some libraries say a whole page; the first words name them.
  return text.substr(0, std::min(text.find_first_of(",\n"), static_cast<std::size_t>(length)));
#else
  return "none (one rank)";
#endif
}

}  // namespace

Option& Option::needed() {
  option_->required();
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::range_of_integers(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most).description(""));
  return *this;
}

Option& Option::range(double least, double most) {
  option_->check(CLI::Range(least, most).description(""));
  return *this;
}

Option& Option::positive_numbers(int count) {
  option_->expected(count)->check(CLI::PositiveNumber);
  return *this;
}

Option& Option::repeatable() {
  option_->expected(1)->take_all();
  return *this;
}

Option& Option::comma_separated() {
  option_->delimiter(',');
  return *this;
}

Options::Options(const std::string& program, const std::string& description, const std::string& usage)
    : app_(std::make_shared<CLI::App>(description, program)) {
  app_->formatter(std::make_shared<Formatter>(usage));
  app_->set_help_flag("-h,--help", "print this text");
  app_->set_version_flag("--version", build_info(program), "print the version and details of the build");
}

template <class T>
Option Options::add(const std::string& name, const std::string& unit, T& value, const std::string& help) {
  return Option(*app_->add_option(name, value, help)->type_name(unit));
}

template Option Options::add(const std::string&, const std::string&, std::string&, const std::string&);
template Option Options::add(const std::string&, const std::string&, std::filesystem::path&,
                             const std::string&);
template Option Options::add(const std::string&, const std::string&, int&, const std::string&);
template Option Options::add(const std::string&, const std::string&, std::int64_t&, const std::string&);
template Option Options::add(const std::string&, const std::string&, double&, const std::string&);
template Option Options::add(const std::string&, const std::string&, std::optional<double>&,
                             const std::string&);
template Option Options::add(const std::string&, const std::string&, std::optional<std::size_t>&,
                             const std::string&);
template Option Options::add(const std::string&, const std::string&, std::optional<std::string>&,
                             const std::string&);
template Option Options::add(const std::string&, const std::string&, std::vector<std::string>&,
                             const std::string&);
template Option Options::add(const std::string&, const std::string&, std::vector<std::filesystem::path>&,
                             const std::string&);
template Option Options::add(const std::string&, const std::string&, std::vector<std::int64_t>&,
                             const std::string&);

void Options::add_flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help);
}

void Options::set_footer(const std::string& text) {
  app_->footer(text);
}

Options Options::add_command(const std::string& name, const std::string& description,
                             const std::string& usage) {
  CLI::App* const command = app_->add_subcommand(name, description);
  command->formatter(std::make_shared<Formatter>(usage));
  // The program owns it.
  return Options(std::shared_ptr<CLI::App>(app_, command));
}

void Options::need_command() {
  app_->require_subcommand(1);
}

bool Options::is_chosen() const {
  return app_->parsed();
}

std::optional<int> Options::parse(const Session& session, int argc, char** argv) {
  return parse_and_say(*app_, session.is_root(), argc, argv);
}

std::optional<int> Options::parse(int argc, char** argv) {
  return parse_and_say(*app_, true, argc, argv);
}

std::string build_info(const std::string& program) {
  return fmt::format("{} {}\nKokkos {}.{}.{}, {}\nMPI: {}\ncompiled by {}", program, KADAM_VERSION_STRING,
                     KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100,
                     ExecutionSpace::name(), mpi_version(), compiler);
}

}  // namespace kadam::launch
