// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/npy.hpp>
#include <reference/make_reference.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

/// The references follow the recorded trajectories, by the rule of tests/golden/compare.py.
namespace kadam {
namespace {

namespace fs = std::filesystem;

struct GoldenCase {
  std::string name;
  fs::path folder;
};

std::ostream& operator<<(std::ostream& out, const GoldenCase& golden) {
  return out << golden.name;
}

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  for (const auto& entry : fs::directory_iterator(KADAM_TEST_GOLDEN_FOLDER)) {
    if (fs::exists(entry.path() / "case.json")) {
      cases.push_back({entry.path().filename().string(), entry.path()});
    }
  }
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

reference::Options options_of(const nlohmann::json& record) {
  reference::Options options;
  if (!record.contains("options")) return options;
  for (const auto& [name, value] : record["options"].items()) {
    if (value.is_string()) {
      options[name] = value.get<std::string>();
    } else if (value.is_array()) {
      options[name] = value.get<std::vector<double>>();
    } else if (value.is_boolean()) {
      options[name] = value.get<bool>() ? 1.0 : 0.0;
    } else {
      options[name] = value.get<double>();
    }
  }
  return options;
}

/// A row of an array [ranks][steps][d].
std::vector<float> row(const io::NpyArray& array, std::size_t rank, std::size_t step) {
  const auto d = static_cast<std::size_t>(array.shape[2]);
  const auto steps = static_cast<std::size_t>(array.shape[1]);
  const auto begin = array.values.begin() + static_cast<std::ptrdiff_t>((rank * steps + step) * d);
  return {begin, begin + static_cast<std::ptrdiff_t>(d)};
}

/// The part of the coordinates that is further off than 0.2 % of the mean way gone, or not finite.
double fraction_off(const std::vector<float>& got, const std::vector<float>& expected,
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

class ReferenceGoldenTest : public testing::TestWithParam<GoldenCase> {};

TEST_P(ReferenceGoldenTest, FollowsTheRecordedTrajectory) {
  const fs::path& folder = GetParam().folder;
  const auto record = nlohmann::json::parse(std::ifstream(folder / "case.json"));
  const io::NpyArray gradients = io::read_npy(folder / "gradients.npy");
  const io::NpyArray expected = io::read_npy(folder / "expected.npy");
  const std::vector<float> start = io::read_npy(folder / "parameters.npy").values;
  const auto ranks = record["ranks"].get<std::size_t>();
  ASSERT_EQ(gradients.shape, expected.shape);

  reference::World world{static_cast<int>(ranks), static_cast<std::int64_t>(start.size())};
  for (const auto& tensor : record["tensors"])
    world.tensors.push_back({tensor["begin"], tensor["end"], tensor["name"]});
  for (const auto& group : record.value("groups", nlohmann::json::array())) {
    reference::Group rules{group["tensors"], group.value("lr_scale", 1.0), {}, group.value("dense", false)};
    if (group.contains("weight_decay")) rules.weight_decay = group["weight_decay"].get<double>();
    world.groups.push_back(rules);
  }
  auto simulation = reference::make_reference(record["algorithm"], options_of(record), world);
  reference::Ranks working(ranks, start);
  double worst = 0.0;
  for (std::size_t t = 0; t < record["steps"].get<std::size_t>(); ++t) {
    reference::Ranks g;
    g.reserve(ranks);
    for (std::size_t r = 0; r < ranks; ++r) g.push_back(row(gradients, r, t));
    simulation.step(working, g);
    for (std::size_t r = 0; r < ranks; ++r) {
      worst = std::max(worst, fraction_off(working[r], row(expected, r, t), start));
    }
  }
  EXPECT_LE(worst, 0.01);
  RecordProperty("worst_fraction_off", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(AllCases, ReferenceGoldenTest, testing::ValuesIn(golden_cases()),
                         [](const auto& test_info) { return test_info.param.name; });

}  // namespace
}  // namespace kadam
