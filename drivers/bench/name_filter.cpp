// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/name_filter.hpp>

#include <algorithm>

namespace kadam::bench {

bool is_wanted(const std::string& name, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& text) {
           return name.find(text) != std::string::npos;
         });
}

}  // namespace kadam::bench
