// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <io/temporary_folder.hpp>
#include <kadam/io/json_lines.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace kadam::test::json_lines_test {
namespace {

TEST(JsonLines, WritesOneObjectALineInOrder) {
  const TemporaryFolder folder;
  io::JsonLinesWriter writer(folder.path() / "m.jsonl");
  writer.write({{"step", std::int64_t{1}}, {"loss", 0.5}, {"phase", std::string("warm-up")}});
  EXPECT_EQ(folder.read("m.jsonl"), "{\"step\":1,\"loss\":0.5,\"phase\":\"warm-up\"}\n");  // already
  writer.write({{"z", std::int64_t{-2}}, {"a", std::string("\"\n")}});
  EXPECT_EQ(folder.read("m.jsonl"),
            "{\"step\":1,\"loss\":0.5,\"phase\":\"warm-up\"}\n{\"z\":-2,\"a\":\"\\\"\\n\"}\n");
}

TEST(JsonLines, WritesNullForWhatIsNoNumber) {
  const TemporaryFolder folder;
  io::JsonLinesWriter writer(folder.path() / "m.jsonl");
  const double infinity = std::numeric_limits<double>::infinity();
  writer.write({{"a", std::numeric_limits<double>::quiet_NaN()}, {"b", infinity}, {"c", -infinity}});
  EXPECT_EQ(folder.read("m.jsonl"), "{\"a\":null,\"b\":null,\"c\":null}\n");
}

TEST(JsonLines, GoesOnAfterAStep) {
  const TemporaryFolder folder;
  const std::string kept = "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"held_out_loss\":null}\n";
  const auto path =
      folder.write("m.jsonl", kept + "{\"step\":3,\"loss\":0.25}\n[1]\n{\"loss\":1}\n{\"step\":2,\"lo");
  io::JsonLinesWriter writer(path, 2);
  EXPECT_EQ(folder.read("m.jsonl"), kept);
  writer.write({{"step", std::int64_t{3}}});
  EXPECT_EQ(folder.read("m.jsonl"), kept + "{\"step\":3}\n");
  const io::JsonLinesWriter started(folder.path() / "none.jsonl", 2);
  EXPECT_EQ(folder.read("none.jsonl"), "");
}

TEST(JsonLines, NamesTheFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "none" / "m.jsonl";
  const std::string sentence = error_of([&] { const io::JsonLinesWriter writer(path); });
  EXPECT_NE(sentence.find("none/m.jsonl: cannot be written: No such file"), std::string::npos) << sentence;
}

}  // namespace
}  // namespace kadam::test::json_lines_test
