// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <train/configuration.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace kadam::test::key_help_test {
namespace {

TEST(KeyHelp, NamesEveryKey) {
  const std::string text = train::key_help();
  train::Configuration defaults;
  OptionFields fields;
  defaults.describe(fields);
  for (const OptionField& field : fields.fields()) {
    EXPECT_NE(text.find("\n  " + field.name + " "), std::string::npos) << field.name;
  }
  for (const std::string& name : optimizer_names()) {
    EXPECT_NE(text.find(name), std::string::npos);
    for (const OptionHelp& option : optimizer_options(name)) {
      EXPECT_NE(text.find("\n  " + option.name + " "), std::string::npos) << name << '.' << option.name;
    }
  }
}

TEST(KeyHelp, FitsInto100Columns) {
  std::istringstream lines(train::key_help());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(KeyHelp, SaysWhatAllHaveInCommonOnceAndWhatDiffersWhereItDoes) {
  const std::string text = train::key_help();
  const std::size_t first = text.find("\n  beta1 ");
  EXPECT_EQ(text.find("\n  beta1 ", first + 1), std::string::npos);
  const std::size_t own = text.find("defaults of apmsqueeze");
  const std::size_t correction = text.find("\n  bias_correction ", own);
  ASSERT_NE(correction, std::string::npos);
  EXPECT_NE(text.substr(correction, 100).find("(default false)"), std::string::npos);
}

}  // namespace
}  // namespace kadam::test::key_help_test
