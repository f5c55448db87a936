// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/random.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace kadam::workloads {

/// Fisher and Yates' shuffle (Durstenfeld 1964), a pure function of `stream` and the order before.
template <class T>
void shuffle(std::span<T> values, std::uint64_t stream) {
  std::uint64_t counter = 0;
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random_below(stream, counter, i)]);
  }
}

}  // namespace kadam::workloads
