// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdlib>
#include <launch/gnuplot.hpp>
#include <launch/whole_file.hpp>

namespace kadam::launch {
namespace {

/// Between apostrophes; one inside becomes what `apostrophe` says.
std::string quoted(const std::string& text, const std::string& apostrophe) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? apostrophe : std::string(1, c);
  return word + "'";
}

std::string shell_word(const std::string& text) {
  return quoted(text, "'\\''");
}

}  // namespace

std::string gnuplot_text(const std::string& text) {
  return quoted(text, "''");
}

bool run_gnuplot(const std::filesystem::path& script, const std::string& commands) {
  write_file(script, commands);
  const std::filesystem::path folder = script.has_parent_path() ? script.parent_path() : ".";
  const std::string command = "cd " + shell_word(folder.string()) + " && gnuplot " +
                              shell_word(script.filename().string()) + " 2>/dev/null";
  return std::system(command.c_str()) == 0;
}

}  // namespace kadam::launch
