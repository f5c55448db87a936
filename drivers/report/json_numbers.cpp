// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/json_numbers.hpp>

#include <cmath>

namespace kadam::report {

Numbers numbers_of(const nlohmann::json& object) {
  Numbers numbers;
  for (const auto& [name, value] : object.items()) {
    if (value.is_number() && std::isfinite(value.get<double>())) numbers[name] = value.get<double>();
  }
  return numbers;
}

}  // namespace kadam::report
