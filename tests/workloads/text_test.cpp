// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <workloads/make_dataset.hpp>
#include <workloads/reader_fixture.hpp>
#include <workloads/text.hpp>

namespace kadam::test {
namespace {

using Integers = std::vector<std::int32_t>;

Integers bytes_of(const std::string& text) {
  Integers values;
  for (const char c : text) {
    values.push_back(static_cast<unsigned char>(c));
  }
  return values;
}

TEST(Text, CutsWindowsThatDoNotOverlap) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.txt", "abcdefghijklmnopqrst");  // 20 bytes: 14 to train on, 6 held out
  const workloads::TextDataset data(path, {4, 0.3});
  EXPECT_EQ(data.shape(), (workloads::DataShape{0, 0, 0, 4, 256}));
  EXPECT_EQ(data.training_examples(), 3);
  EXPECT_EQ(data.held_out_examples(), 1);
  const workloads::Batch batch = training_batch(data, {2, 0});
  EXPECT_EQ(batch.examples, 2);
  EXPECT_EQ(batch.images.extent(0), 0U);
  EXPECT_EQ(to_host(batch.tokens), bytes_of("ijklabcd"));
  EXPECT_EQ(to_host(batch.targets), bytes_of("jklmbcde"));
  const workloads::Batch held_out = held_out_batch(data, {0});
  EXPECT_EQ(to_host(held_out.tokens), bytes_of("opqr"));
  EXPECT_EQ(to_host(held_out.targets), bytes_of("pqrs"));
  EXPECT_THROW(training_batch(data, {3}), std::out_of_range);
}

TEST(Text, ReadsCompressedFilesAndBytesAbove127) {
  const TemporaryFolder folder;
  write_gzip(folder.path() / "a.dict.dz", "\xff\x80\x01\xfe");
  const workloads::TextDataset data(folder.path() / "a.dict.dz", {3, 0.0});
  EXPECT_EQ(data.held_out_examples(), 0);
  EXPECT_EQ(to_host(training_batch(data, {0}).tokens), (Integers{255, 128, 1}));
  EXPECT_EQ(to_host(training_batch(data, {0}).targets), (Integers{128, 1, 254}));
}

TEST(Text, ReadsFilesLargerThanItsBuffer) {
  const TemporaryFolder folder;
  std::string text(3'000'001, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>(i * 31 >> 8);
  }
  write_gzip(folder.path() / "a.gz", text);
  const workloads::TextDataset data(folder.path() / "a.gz", {1000, 0.0});
  EXPECT_EQ(data.training_examples(), 3000);
  EXPECT_EQ(to_host(training_batch(data, {2999}).tokens), bytes_of(text.substr(2'999'000, 1000)));
}

TEST(Text, RefusesWhatIsTooShortOrDamaged) {
  const TemporaryFolder folder;
  const auto message = [&](const std::filesystem::path& path, const workloads::TextOptions& options) {
    return error_of([&] { workloads::TextDataset(path, options); });
  };
  EXPECT_NE(message(folder.write("a", "abcd"), {4, 0.0}).find("at byte 4: expected at least context + 1 = 5"),
            std::string::npos);
  EXPECT_NE(message(folder.write("a", "abcdefgh"), {4, 0.05}).find("as many held out"), std::string::npos);
  EXPECT_NE(message(folder.write("a", ""), {4, 0.0}).find("at byte 0"), std::string::npos);
  EXPECT_NE(message(folder.path() / "none", {4, 0.0}).find("found none"), std::string::npos);
  EXPECT_NE(message(folder.path(), {4, 0.0}).find("found something else"), std::string::npos);
  write_gzip(folder.path() / "b.gz", "some text that is long enough");
  const std::string bytes = folder.read("b.gz");
  for (std::size_t length = 2; length < bytes.size(); ++length) {
    EXPECT_NE(message(folder.write("b.gz", bytes.substr(0, length)), {4, 0.0}).find("b.gz: at byte "),
              std::string::npos)
        << length;
  }
}

TEST(Text, OptionsSayWhatWouldBeRight) {
  EXPECT_THROW((workloads::TextOptions{0, 0.1}).validate(), std::invalid_argument);
  EXPECT_THROW((workloads::TextOptions{4, 1.0}).validate(), std::invalid_argument);
  EXPECT_THROW((workloads::TextOptions{4, -0.1}).validate(), std::invalid_argument);
  EXPECT_THROW((workloads::DataOptions{"mnist", "", {}}).validate(), std::invalid_argument);
  EXPECT_THROW((workloads::DataOptions{"text", "", {}}).validate(), std::invalid_argument);
  EXPECT_THROW((workloads::DataOptions{"cifar10", "", {}}).validate(), std::invalid_argument);
}

}  // namespace
}  // namespace kadam::test
