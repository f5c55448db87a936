// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kadam::io::detail {

/// What stands in a .npy header: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
struct NpyHeader {
  std::string element_type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Where and why a header is not one.
struct NpyHeaderError {
  std::size_t offset = 0;  ///< in the header
  std::string expected;
};

/// Parses the dictionary: exactly the three keys, in any order, and white space after it.
/// Returns nothing and fills `error` when it is malformed.
[[nodiscard]] std::optional<NpyHeader> parse_npy_header(std::string_view text, NpyHeaderError& error);

/// The dictionary as NumPy writes it, without padding.
[[nodiscard]] std::string npy_header_text(std::span<const std::int64_t> shape);

}  // namespace kadam::io::detail
