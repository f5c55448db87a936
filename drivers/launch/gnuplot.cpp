// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/gnuplot.hpp>
#include <launch/shell_word.hpp>
#include <launch/whole_file.hpp>

#include <cstdlib>

namespace kadam::launch {

std::string gnuplot_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

bool run_gnuplot(const std::filesystem::path& script, const std::string& commands) {
  write_file(script, commands);
  const std::filesystem::path folder = script.has_parent_path() ? script.parent_path() : ".";
  const std::string command = "cd " + shell_word(folder.string()) + " && gnuplot " +
                              shell_word(script.filename().string()) + " 2>/dev/null";
  return std::system(command.c_str()) == 0;
}

}  // namespace kadam::launch
