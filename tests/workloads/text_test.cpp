// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/reader_fixture.hpp>
#include <workloads/text.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

namespace kadam::test::text_test {
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
  EXPECT_NE(message(folder.path() / "none", {4, 0.0}).find("found no file"), std::string::npos);
  EXPECT_NE(message(folder.path(), {4, 0.0}).find("found something else"), std::string::npos);
  write_gzip(folder.path() / "b.gz", "some text that is long enough");
  const std::string bytes = folder.read("b.gz");
  for (std::size_t length = 2; length < bytes.size(); ++length) {
    EXPECT_NE(message(folder.write("b.gz", bytes.substr(0, length)), {4, 0.0}).find("b.gz: at byte "),
              std::string::npos)
        << length;
  }
}

workloads::TextOptions masked_options(std::int64_t context, double fraction) {
  workloads::TextOptions options{context, 0.2};
  options.objective = "masked";
  options.mask_fraction = fraction;
  return options;
}

/// Bytes 0 to 99, again and again: what is at a place in the file is known.
std::string counting_text(int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(i % 100);
  }
  return text;
}

TEST(Text, HidesSomeTokensAndAsksForThose) {
  const TemporaryFolder folder;
  const workloads::TextDataset data(folder.write("a", counting_text(50'000)), masked_options(20, 0.15));
  EXPECT_EQ(data.shape(), (workloads::DataShape{0, 0, 0, 20, 256, 3, 0}));
  std::vector<std::int64_t> examples(1900);
  std::iota(examples.begin(), examples.end(), 0);
  const workloads::Batch batch = training_batch(data, examples);
  const Integers tokens = to_host(batch.tokens);
  const Integers positions = to_host(batch.positions);
  const Integers targets = to_host(batch.targets);
  ASSERT_EQ(positions.size(), 3U * 1900U);
  ASSERT_EQ(targets.size(), positions.size());
  std::vector<int> chosen(20, 0);
  int masks = 0, kept = 0, others = 0;
  std::set<std::int32_t> other_bytes;
  Integers shown = tokens;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int32_t place = positions[i];
    EXPECT_TRUE(i == 0 || positions[i - 1] < place);
    EXPECT_EQ(place / 20, static_cast<std::int32_t>(i / 3));
    EXPECT_EQ(targets[i], place % 100);
    ++chosen[static_cast<std::size_t>(place % 20)];
    std::int32_t& token = shown[static_cast<std::size_t>(place)];
    masks += token == 256 ? 1 : 0;
    kept += token == targets[i] ? 1 : 0;
    others += token != 256 && token != targets[i] ? 1 : 0;
    if (token != 256) other_bytes.insert(token);
    token = targets[i];
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    ASSERT_EQ(shown[i], static_cast<std::int32_t>(i % 100));  // the rest is as it was
  }
  EXPECT_NEAR(masks, 0.8 * 5700, 100);
  EXPECT_NEAR(kept, 0.101 * 5700, 80);
  EXPECT_NEAR(others, 0.099 * 5700, 80);
  EXPECT_GT(other_bytes.size(), 90U);
  EXPECT_LT(*other_bytes.rbegin(), 100);
  for (const int count : chosen) {
    EXPECT_NEAR(count, 285, 65);
  }
}

TEST(Text, MasksAreAPureFunctionOfSeedEpochAndExample) {
  const TemporaryFolder folder;
  workloads::TextOptions options = masked_options(40, 0.25);
  const auto path = folder.write("a", counting_text(2000));
  const workloads::TextDataset data(path, options);
  const auto positions = [](const workloads::Batch& batch) { return to_host(batch.positions); };
  const Integers first = positions(training_batch(data, {7, 3}, 4));
  EXPECT_EQ(positions(training_batch(data, {7, 3}, 4)), first);
  EXPECT_NE(positions(training_batch(data, {7, 3}, 5)), first);
  Integers alone = positions(training_batch(data, {3}, 4));
  for (std::int32_t& place : alone) {
    place += 40;
  }
  EXPECT_EQ(alone, Integers(first.begin() + 10, first.end()));
  options.mask_seed = 2;
  const workloads::TextDataset other(path, options);
  EXPECT_NE(positions(training_batch(other, {7, 3}, 4)), first);
  const workloads::Batch held_out = held_out_batch(data, {0, 1, 2});
  EXPECT_EQ(positions(held_out_batch(other, {0, 1, 2})), positions(held_out));
  EXPECT_EQ(to_host(held_out_batch(other, {0, 1, 2}).tokens), to_host(held_out.tokens));
  // The held-out part begins with byte 1600.
  EXPECT_EQ(to_host(held_out.targets)[0], positions(held_out)[0] % 100);
}

TEST(Text, MasksAtLeastOneTokenAndAtMostAll) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", counting_text(100));
  const auto masked = [&](double fraction) {
    return workloads::TextDataset(path, masked_options(8, fraction)).shape().masked;
  };
  EXPECT_EQ(masked(0.01), 1);
  EXPECT_EQ(masked(0.5), 4);
  EXPECT_EQ(masked(1.0), 8);
}

TEST(Text, OptionsSayWhatWouldBeRight) {
  EXPECT_THROW(masked_options(4, 0.0).validate(), std::invalid_argument);
  EXPECT_THROW(masked_options(4, 1.1).validate(), std::invalid_argument);
  workloads::TextOptions options;
  options.objective = "mask";
  EXPECT_THROW(options.validate(), std::invalid_argument);
  EXPECT_THROW((workloads::TextOptions{0, 0.1}).validate(), std::invalid_argument);
  EXPECT_THROW((workloads::TextOptions{4, 1.0}).validate(), std::invalid_argument);
  EXPECT_THROW((workloads::TextOptions{4, -0.1}).validate(), std::invalid_argument);
  EXPECT_THROW(data_options("mnist", "").validate(), std::invalid_argument);
  EXPECT_THROW(data_options("text", "").validate(), std::invalid_argument);
  EXPECT_THROW(data_options("cifar10", "").validate(), std::invalid_argument);
}

TEST(Text, DataOptionsSayWhatDoesNotGoTogether) {
  const auto refusal = [](workloads::DataOptions options, const std::string& task, double alpha) {
    options.task = task;
    options.dirichlet_alpha = alpha;
    return error_of([&] {
      try {
        options.validate();
      } catch (const std::invalid_argument& error) {
        throw std::runtime_error(error.what());
      }
    });
  };
  const auto cifar10 = data_options("cifar10", "somewhere");
  const auto text = data_options("text", "somewhere");
  EXPECT_NE(refusal(cifar10, "segment", 0.0).find("needs kind 'idx'"), std::string::npos);
  EXPECT_NE(refusal(cifar10, "paint", 0.0).find("use classify or segment"), std::string::npos);
  EXPECT_NE(refusal(cifar10, "classify", -1.0).find("expected 0 or more"), std::string::npos);
  EXPECT_NE(refusal(text, "classify", 1.0).find("text has no classes"), std::string::npos);
}

}  // namespace
}  // namespace kadam::test::text_test
