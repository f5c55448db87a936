// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/npy.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

/// The recorded trajectories of tests/golden, and the rule of tests/golden/compare.py.
namespace kadam::test {

struct GoldenCase {
  std::string name;
  std::filesystem::path folder;
};

inline std::ostream& operator<<(std::ostream& out, const GoldenCase& golden) {
  return out << golden.name;
}

/// All cases, sorted by name. The environment variable KADAM_TEST_GOLDEN_FOLDER overrides the folder of the
/// build, for a test that runs elsewhere.
inline std::vector<GoldenCase> golden_cases() {
  const char* const elsewhere = std::getenv("KADAM_TEST_GOLDEN_FOLDER");
  std::vector<GoldenCase> cases;
  for (const auto& entry :
       std::filesystem::directory_iterator(elsewhere != nullptr ? elsewhere : KADAM_TEST_GOLDEN_FOLDER)) {
    if (std::filesystem::exists(entry.path() / "case.json")) {
      cases.push_back({entry.path().filename().string(), entry.path()});
    }
  }
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

/// The d elements of one rank and step in an array [ranks][steps][d].
inline std::vector<float> row(const io::NpyArray& array, std::size_t rank, std::size_t step) {
  const auto d = static_cast<std::size_t>(array.shape[2]);
  const auto steps = static_cast<std::size_t>(array.shape[1]);
  const auto begin = array.values.begin() + static_cast<std::ptrdiff_t>((rank * steps + step) * d);
  return {begin, begin + static_cast<std::ptrdiff_t>(d)};
}

/// Largest fraction_off() that passes.
inline constexpr double fraction_that_may_be_off = 0.01;

/// The fraction of coordinates of `got` that are not finite, or are further from `expected` than 0.2 % of the
/// mean |expected - start| (and a rounding of 2e-6).
inline double fraction_off(const std::vector<float>& got, const std::vector<float>& expected,
                           const std::vector<float>& start) {
  double moved = 0.0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    moved += std::fabs(static_cast<double>(expected[i]) - static_cast<double>(start[i]));
  }
  moved = moved / static_cast<double>(start.size()) + 1e-12;
  int off = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double distance = std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    const double allowed = 2e-3 * moved + 2e-6 * (1.0 + std::fabs(static_cast<double>(expected[i])));
    if (!(distance <= allowed)) ++off;
  }
  return off / static_cast<double>(start.size());
}

}  // namespace kadam::test
