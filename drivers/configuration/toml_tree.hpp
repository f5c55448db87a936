// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace kadam::configuration {

/// TOML as a tree of plain values. Only toml_tree.cpp includes the parser. It is compiled as C++ even where
/// everything else is compiled for a device, because CUDA's compiler cannot compile the parser.
struct TomlNode {
  enum class Kind : std::uint8_t { value, table, array, other };  // other: dates and times
  using Value = std::variant<bool, std::int64_t, double, std::string>;

  std::string key;  ///< its key in a table; empty in an array and at the root
  Kind kind = Kind::other;
  Value value = false;             ///< if kind is Kind::value
  std::vector<TomlNode> children;  ///< entries of a table or an array
};

/// Reads a file; returns its root table. Errors: std::runtime_error that names the file, and the line if it
/// has one.
[[nodiscard]] TomlNode read_toml(const std::filesystem::path& file);

/// Parses a TOML value, as after key= on a command line. A text that is not TOML is taken as a string, so
/// that words need no quotation marks: adam is "adam".
[[nodiscard]] TomlNode parse_toml_value(const std::string& text);

}  // namespace kadam::configuration
