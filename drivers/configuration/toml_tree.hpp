// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace kadam::configuration {

/// TOML as a tree of plain values. Only toml_tree.cpp includes the parser, and it is compiled as C++ even
/// where everything else is compiled for a device: CUDA's compiler does not get through it.
struct TomlNode {
  enum class Kind : std::uint8_t { value, table, array, other };  // other: dates and times
  using Value = std::variant<bool, std::int64_t, double, std::string>;

  std::string key;  ///< in a table; empty in an array
  Kind kind = Kind::other;
  Value value = false;             ///< of Kind::value
  std::vector<TomlNode> children;  ///< of a table or an array
};

/// The table that a file holds. Errors: std::runtime_error that names the file, and the line if it has one.
[[nodiscard]] TomlNode read_toml(const std::filesystem::path& file);

/// The value that a text stands for. A word that needs no quotation marks on a command line stands for
/// itself.
[[nodiscard]] TomlNode parse_toml_value(const std::string& text);

}  // namespace kadam::configuration
