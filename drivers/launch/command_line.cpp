// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <launch/build_info.hpp>
#include <launch/command_line.hpp>
#include <utility>

namespace kadam::launch {
namespace {

/// CLI11's help with a usage line of our own.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) { column_width(24); }
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "\nUsage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

}  // namespace

std::shared_ptr<CLI::App> make_command_line(const std::string& program, const std::string& description,
                                            const std::string& usage) {
  auto app = std::make_shared<CLI::App>(description, program);
  app->formatter(std::make_shared<Formatter>(usage));
  app->set_help_flag("-h,--help", "print this text");
  app->set_version_flag("--version", build_info(program), "print the version and what it was built with");
  return app;
}

std::optional<int> parse(CLI::App& app, const Session& session, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& wish) {  // --help or --version
    if (session.is_root()) app.exit(wish);
    return exit_success;
  } catch (const CLI::ParseError& error) {
    if (session.is_root()) {
      fmt::print(stderr, "{0}: {1}; see {0} --help\n", app.get_name(), error.what());
      std::fflush(stderr);
    }
    return exit_usage;
  }
}

}  // namespace kadam::launch
