// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace kadam::test {

/// Changes files as accidents and malice do: bits, bytes, numbers in their binary and their written form,
/// pieces cut out, doubled, or taken from another file. The same seed makes the same inputs.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  /// One of the seeds with a few changes.
  std::string next(const std::vector<std::string>& seeds) {
    std::string bytes = seeds[below(seeds.size())];
    const std::size_t changes = 1 + below(4);
    for (std::size_t k = 0; k < changes; ++k) change(bytes, seeds);
    return bytes;
  }

 private:
  std::size_t below(std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(engine_() % bound);
  }

  void change(std::string& bytes, const std::vector<std::string>& seeds) {
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t length = std::min(bytes.size() - at, below(below(2) == 0 ? 8 : 64));
    switch (below(9)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 5:
        bytes.insert(at, std::string(1 + below(16), static_cast<char>(below(256))));
        break;
      case 6:
        write_number(bytes, at);
        break;
      case 7:
        insert_word(bytes, at);
        break;
      default: {
        const std::string& other = seeds[below(seeds.size())];
        const std::size_t from = below(other.size() + 1);
        bytes.replace(at, length, other.substr(from, below(64)));
      }
    }
  }

  /// Where a header keeps a length or a count.
  void write_number(std::string& bytes, std::size_t at) {
    constexpr std::array<std::uint64_t, 10> numbers = {
        0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff};
    const std::uint64_t number = numbers[below(numbers.size())];
    const std::size_t width = std::size_t{1} << below(4);
    const bool is_big_endian = below(2) == 0;
    for (std::size_t k = 0; k < width && at + k < bytes.size(); ++k) {
      const std::size_t place = is_big_endian ? width - 1 - k : k;
      bytes[at + k] = static_cast<char>((number >> (8 * place)) & 0xffU);
    }
  }

  /// Where a text does.
  void insert_word(std::string& bytes, std::size_t at) {
    static const std::array<const char*, 16> words = {"-1",
                                                      "0",
                                                      "4294967296",
                                                      "9223372036854775807",
                                                      "18446744073709551616",
                                                      "1e999",
                                                      "nan",
                                                      "[",
                                                      "{",
                                                      "\"",
                                                      "]]]]",
                                                      "\n",
                                                      "\xff\xfe",
                                                      "=",
                                                      "null,",
                                                      "[[[[[[[["};
    bytes.insert(at, words[below(words.size())]);
  }

  std::mt19937_64 engine_;
};

}  // namespace kadam::test
