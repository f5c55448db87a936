// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <reference/make_reference.hpp>
#include <support/golden_cases.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// The references follow the recorded trajectories, by the rule of tests/golden/compare.py.
namespace kadam {
namespace {

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

using test::row;

class ReferenceGoldenTest : public testing::TestWithParam<test::GoldenCase> {};

TEST_P(ReferenceGoldenTest, FollowsTheRecordedTrajectory) {
  const std::filesystem::path& folder = GetParam().folder;
  const auto record = nlohmann::json::parse(std::ifstream(folder / "case.json"));
  const io::NpyArray gradients = io::read_npy(folder / "gradients.npy");
  const io::NpyArray expected = io::read_npy(folder / "expected.npy");
  const std::vector<float> start = io::read_npy(folder / "parameters.npy").values;
  const auto ranks = record["ranks"].get<std::size_t>();
  ASSERT_EQ(gradients.shape, expected.shape);

  reference::World world{static_cast<int>(ranks), static_cast<std::int64_t>(start.size())};
  for (const auto& tensor : record["tensors"]) {
    world.tensors.push_back({tensor["begin"], tensor["end"], tensor["name"]});
    world.tensors.back().shape = tensor.value("shape", std::vector<std::int64_t>());
    world.tensors.back().spectral = tensor.value("spectral", true);
  }
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
      worst = std::max(worst, test::fraction_off(working[r], row(expected, r, t), start));
    }
  }
  EXPECT_LE(worst, test::fraction_that_may_be_off);
  RecordProperty("worst_fraction_off", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(AllCases, ReferenceGoldenTest, testing::ValuesIn(test::golden_cases()),
                         [](const auto& test_info) { return test_info.param.name; });

}  // namespace
}  // namespace kadam
