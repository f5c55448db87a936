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

}  // namespace

std::shared_ptr<CLI::App> make_command_line(const std::string& program, const std::string& description,
                                            const std::string& usage) {
  auto app = std::make_shared<CLI::App>(description, program);
  set_usage(*app, usage);
  app->set_help_flag("-h,--help", "print this text");
  app->set_version_flag("--version", build_info(program), "print the version and what it was built with");
  return app;
}

void set_usage(CLI::App& app, const std::string& usage) {
  app.formatter(std::make_shared<Formatter>(usage));
}

std::optional<int> parse(CLI::App& app, const Session& session, int argc, char** argv) {
  return parse_and_say(app, session.is_root(), argc, argv);
}

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  return parse_and_say(app, true, argc, argv);
}

}  // namespace kadam::launch
