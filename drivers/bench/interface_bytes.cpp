// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/interface_bytes.hpp>

#include <fstream>
#include <sstream>
#include <string>

namespace kadam::bench {

std::optional<std::size_t> interface_bytes() {
  std::ifstream table("/proc/net/dev");
  if (!table) return std::nullopt;
  return sum_of_sent_bytes(table);
}

std::size_t sum_of_sent_bytes(std::istream& table) {
  std::size_t sum = 0;
  std::string line;
  while (std::getline(table, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;  // a heading
    std::istringstream name_stream(line.substr(0, colon));
    std::string name;
    name_stream >> name;
    if (name == "lo") continue;
    std::istringstream fields(line.substr(colon + 1));
    constexpr int sent_bytes = 8;  // after eight fields of what was received
    std::size_t value = 0;
    for (int field = 0; field <= sent_bytes; ++field) fields >> value;
    if (fields) sum += value;
  }
  return sum;
}

}  // namespace kadam::bench
