// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/whole_file.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kadam::launch {

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  // Before it, the text may lie in a buffer that no disk has seen.
  if (!stream.flush()) throw std::runtime_error(file.string() + ": cannot be written");
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  // Copying nothing at all counts as a failure; a folder can be opened, but not read.
  if (stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || !text)
    throw std::runtime_error(file.string() + ": cannot be read");
  return text.str();
}

}  // namespace kadam::launch
