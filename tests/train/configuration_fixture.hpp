// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <io/temporary_folder.hpp>
#include <train/configuration.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <vector>

namespace kadam::test {

/// What these lines of a file and these assignments make.
inline train::Configuration configuration_of(const std::string& toml,
                                             const std::vector<std::string>& assignments = {}) {
  const TemporaryFolder folder;
  return train::read_configuration(folder.write("run.toml", toml), assignments);
}

/// The sentence with which they are refused.
inline std::string refusal_of(const std::string& toml, const std::vector<std::string>& assignments = {}) {
  try {
    static_cast<void>(configuration_of(toml, assignments));
  } catch (const std::exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused: " << toml;
  return "";
}

inline void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "expected: " << part << "\ngot: " << text;
}

}  // namespace kadam::test
