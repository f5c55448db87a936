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
  const auto file = file_with("");
  write_figures(file, written);
  Figures read;
  read_figures(file, read);
  std::filesystem::remove(file);
  EXPECT_EQ(read.machine, "a machine");
  EXPECT_EQ(read.network.ranks_per_node, 8);
  EXPECT_DOUBLE_EQ(read.network.link_bytes_per_second, 125e6);
  for (const Kernel& kernel : plan::calibrated_kernels()) {
    EXPECT_NEAR(read.kernels->per_element(kernel), kernel.bytes_per_element / 7e9, 1e-20);
  }
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
  EXPECT_TRUE(has(words_of("no"), "is no JSON"));
  EXPECT_TRUE(has(words_of(R"({"parameter": 5})"), "unknown key 'parameter'"));
  EXPECT_TRUE(has(words_of(R"({"network": {"rate": 5}})"), "unknown key 'rate'"));
  EXPECT_TRUE(has(words_of(R"({"parameters": "many"})"), "wrong type"));
  EXPECT_TRUE(has(words_of(R"({"memory_bytes_per_second": -1})"), "more than 0"));
  EXPECT_TRUE(has(words_of(R"({"nanoseconds_per_element": {"copy": 1}})"), "calibrate anew"));
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
  const auto all = contestants(figures, 0.15);
  const double rate = pays_below(figures, all, 64).value();
  EXPECT_TRUE(predict_column_at(figures, all, 64, 0.99 * rate).verdict.compresses);
  EXPECT_FALSE(predict_column_at(figures, all, 64, 1.03 * rate).verdict.compresses);
  // 100 ms of optimizer work at 1.5: dense waits less even on slow links.
  figures.network.ranks_per_node = 64;
  EXPECT_FALSE(pays_below(figures, all, 64).has_value()) << "one node";
}

}  // namespace
}  // namespace kadam::plan_program
