// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/default_sizes.hpp>
#include <bench/exchange_case.hpp>

#include <algorithm>
#include <fstream>
#include <string>

namespace kadam::bench {

std::vector<std::int64_t> default_sizes(std::optional<std::size_t> available_bytes, int ranks) {
  constexpr std::int64_t smallest = 1000;
  constexpr double without_knowledge = 1e7;
  const double largest =
      available_bytes ? static_cast<double>(*available_bytes) / 2.0 / (exchange_bytes_per_element * ranks)
                      : without_knowledge;
  std::vector<std::int64_t> sizes = {smallest, 10000, 100000, 1000000, 10000000, 25000000, 100000000};
  std::erase_if(sizes,
                [&](std::int64_t size) { return size > smallest && static_cast<double>(size) > largest; });
  return sizes;
}

std::optional<std::size_t> available_memory_bytes() {
  std::ifstream table("/proc/meminfo");
  std::string name;
  std::size_t kibibytes = 0;
  for (std::string rest; table >> name >> kibibytes; std::getline(table, rest)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

std::vector<std::int64_t> default_sizes(Communicator& communicator) {
  const auto own = static_cast<double>(available_memory_bytes().value_or(0));
  const std::vector<double> all = communicator.all_gather_values({&own, 1});
  const auto least = static_cast<std::size_t>(*std::min_element(all.begin(), all.end()));
  return default_sizes(least > 0 ? std::optional(least) : std::nullopt, communicator.size());
}

}  // namespace kadam::bench
