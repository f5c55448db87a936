// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/session.hpp>
#include <plan/figures.hpp>
#include <plan/forecast.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kadam::plan_program {
namespace {

std::filesystem::path file_with(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() / ("kadam_figures_" + std::to_string(::getpid()));
  std::ofstream(file) << text;
  return file;
}

TEST(Figures, ComeBackFromTheFile) {
  Figures written;
  written.machine = "a machine";
  written.kernels = plan::KernelCosts::at_memory_speed(7e9);
  written.network.link_bytes_per_second = 125e6;
  written.network.ranks_per_node = 8;
  written.known = {"--ranks-per-node"};
  const auto file = file_with("");
  write_figures(file, written);
  Figures read;
  read_figures(file, read);
  std::filesystem::remove(file);
  EXPECT_EQ(read.machine, "a machine");
  EXPECT_EQ(read.network.ranks_per_node, 8);
  EXPECT_DOUBLE_EQ(read.network.link_bytes_per_second, 125e6);
  EXPECT_EQ(read.known, written.known) << "what was assumed is not kept as if somebody had measured it";
  for (const Kernel& kernel : plan::calibrated_kernels()) {
    EXPECT_NEAR(read.kernels->per_element(kernel), kernel.bytes_per_element / 7e9, 1e-20);
  }
}

std::vector<std::string> options_of(const std::vector<Assumption>& assumptions) {
  std::vector<std::string> options;
  for (const Assumption& one : assumptions) options.push_back(one.option);
  return options;
}

TEST(Figures, SayWhatNobodyGave) {
  using Words = std::vector<std::string>;
  Figures figures;
  EXPECT_EQ(options_of(figures.assumptions()),
            (Words{"--compute", "--steps", "--warmup", "--background-overlap"}));
  figures.network.link_bytes_per_second = 125e6;
  figures.network.ranks_per_node = 2;
  figures.compute_seconds = 0.25;
  figures.known = {"--compute", "--ranks-per-node", "--steps", "--background-overlap"};
  EXPECT_TRUE(figures.lacks_node_rate());
  const std::vector<Assumption> all = figures.assumptions();
  EXPECT_EQ(options_of(all),
            (Words{"--warmup", "--latency", "--message-cost", "--node-latency", "--backward-overlap"}));
  EXPECT_EQ(all[1].value, "50us");
  EXPECT_EQ(all[4].value, "0.6");
}

TEST(Figures, OfAFileAreGiven) {
  const auto file = file_with(R"({"network": {"latency_seconds": 3e-5, "node_bytes_per_second": 1e10,
      "message_seconds": 1e-6, "ranks_per_node": 4, "node_latency_seconds": 1e-6, "link_bytes_per_second": 1e9},
      "compute_seconds": 0.1, "steps": 1000, "overlap": {"backward": 0.5, "background": 0.5}})");
  Figures figures;
  read_figures(file, figures);
  std::filesystem::remove(file);
  EXPECT_EQ(options_of(figures.assumptions()), std::vector<std::string>{"--warmup"});
  EXPECT_FALSE(figures.lacks_node_rate());
}

TEST(Figures, AreRefusedWithTheirFile) {
  const auto words_of = [](const std::string& text) {
    const auto file = file_with(text);
    std::string words = "accepted";
    try {
      Figures figures;
      read_figures(file, figures);
    } catch (const launch::UsageError& refusal) {
      words = refusal.what();
      EXPECT_EQ(words.find(file.string()), 0) << words;
    }
    std::filesystem::remove(file);
    return words;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  EXPECT_EQ(words_of(R"({"parameters": 5})"), "accepted");
  EXPECT_TRUE(has(words_of("no"), "not valid JSON"));
  EXPECT_TRUE(has(words_of(R"({"parameter": 5})"), "unknown key 'parameter'"));
  EXPECT_TRUE(has(words_of(R"({"network": {"rate": 5}})"), "unknown key 'rate'"));
  EXPECT_TRUE(has(words_of(R"({"parameters": "many"})"), "wrong type"));
  EXPECT_TRUE(has(words_of(R"({"memory_bytes_per_second": -1})"), "more than 0"));
  EXPECT_TRUE(has(words_of(R"({"nanoseconds_per_element": {"copy": 1}})"), "measure again with --save"));
  EXPECT_TRUE(has(words_of(R"({"options": {"loco": {"bits": [1]}}})"), "wrong type"));
}

TEST(Reproduction, DeviatesFromTheNearestEndOfARange) {
  Reproduction row;
  row.published.low = 2.0;
  row.published.high = 10.0;
  row.predicted = 5.0;
  EXPECT_DOUBLE_EQ(row.deviation(), 0.0);
  row.predicted = 12.0;
  EXPECT_NEAR(row.deviation(), 0.2, 1e-12);
  row.predicted = 1.0;
  EXPECT_NEAR(row.deviation(), -0.5, 1e-12);
}

TEST(PaysBelow, IsWhereTheVerdictChanges) {
  Figures figures;
  figures.elements = 100000000;
  figures.compute_seconds = 0.2;
  figures.kernels = plan::KernelCosts::at_memory_speed(5e11);
  figures.network.link_bytes_per_second = 1.0;
  const auto all = contestants(figures);
  const double rate = pays_below(figures, all, 64).value();
  EXPECT_TRUE(predict_column_at(figures, all, 64, 0.99 * rate).verdict.compresses);
  EXPECT_FALSE(predict_column_at(figures, all, 64, 1.03 * rate).verdict.compresses);
  // 100 ms of optimizer work at 1.5: dense waits less even on slow links.
  figures.network.ranks_per_node = 64;
  figures.network.node_bytes_per_second = 1e10;
  EXPECT_FALSE(pays_below(figures, all, 64).has_value()) << "one node";
}

}  // namespace
}  // namespace kadam::plan_program
