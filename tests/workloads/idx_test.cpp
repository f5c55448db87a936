// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/image_files.hpp>
#include <workloads/reader_fixture.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace kadam::test::idx_test {
namespace {

const std::string six_pixels("\x00\x33\x66\x99\xcc\xff", 6);

workloads::IdxArray read_vector(const std::filesystem::path& path) {
  return workloads::read_idx(path, 1);
}

/// Three training images and one held out, of 1 x 2 pixels.
void write_dataset(const TemporaryFolder& folder) {
  folder.write("train-images-idx3-ubyte", idx_header({3, 1, 2}) + six_pixels);
  write_gzip(folder.path() / "train-labels-idx1-ubyte.gz", idx_header({3}) + std::string("\x02\x00\x01", 3));
  write_gzip(folder.path() / "t10k-images-idx3-ubyte.gz", idx_header({1, 1, 2}) + "\xff\x7f");
  folder.write("t10k-labels-idx1-ubyte", idx_header({1}) + "\x01");
}

TEST(Idx, ReadsPlainAndCompressedFiles) {
  const TemporaryFolder folder;
  write_dataset(folder);
  const workloads::ImageDataset data = workloads::read_idx_dataset(folder.path());
  EXPECT_EQ(data.shape(), (workloads::DataShape{1, 1, 2, 0, 3}));
  EXPECT_EQ(data.training_examples(), 3);
  EXPECT_EQ(data.held_out_examples(), 1);

  const workloads::Batch batch = training_batch(data, {2, 0});
  EXPECT_EQ(batch.examples, 2);
  EXPECT_EQ(batch.tokens.extent(0), 0U);
  EXPECT_EQ(to_host(batch.targets), (std::vector<std::int32_t>{1, 2}));
  const std::vector<float> images = to_host(batch.images);
  const std::vector<double> expected = {0.6, 1.0, -1.0, -0.6};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(images.at(i)), expected[i], 1e-6);
  }
  EXPECT_EQ(to_host(held_out_batch(data, {0}).targets), (std::vector<std::int32_t>{1}));
}

TEST(Idx, BatchStorageIsReused) {
  const TemporaryFolder folder;
  write_dataset(folder);
  const auto data = workloads::make_dataset(data_options("idx", folder.path().string()));
  workloads::Batch batch = training_batch(*data, {0, 1});
  const float* const images = batch.images.data();
  const std::vector<std::int64_t> other = {2, 1};
  data->training_batch(ExecutionSpace(), other, 0, batch);
  EXPECT_EQ(batch.images.data(), images);
  EXPECT_EQ(to_host(batch.targets), (std::vector<std::int32_t>{1, 0}));
}

TEST(Idx, RefusesIndicesBeyondTheSet) {
  const TemporaryFolder folder;
  write_dataset(folder);
  const workloads::ImageDataset data = workloads::read_idx_dataset(folder.path());
  EXPECT_THROW(training_batch(data, {3}), std::out_of_range);
  EXPECT_THROW(training_batch(data, {-1}), std::out_of_range);
  EXPECT_THROW(held_out_batch(data, {1}), std::out_of_range);
}

TEST(Idx, RefusesTruncatedAndChangedFiles) {
  const TemporaryFolder folder;
  const std::string plain = idx_header({6}) + six_pixels;
  expect_refuses_other_lengths(folder, "a", plain, read_vector);
  expect_survives_changed_bytes(folder, "a", plain, read_vector);
  write_gzip(folder.path() / "b.gz", plain);
  const std::string compressed = folder.read("b.gz");
  for (std::size_t length = 0; length < compressed.size(); ++length) {
    const auto path = folder.write("b.gz", compressed.substr(0, length));
    EXPECT_NE(error_of([&] { read_vector(path); }).find("b.gz: at byte "), std::string::npos) << length;
  }
  expect_survives_changed_bytes(folder, "b.gz", compressed, read_vector);
}

TEST(Idx, RefusesDamagedCompression) {
  const TemporaryFolder folder;
  write_gzip(folder.path() / "a.gz", idx_header({6}) + six_pixels);
  std::string bytes = folder.read("a.gz");
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 1);  // in the checksum
  const auto path = folder.write("a.gz", bytes);
  EXPECT_NE(error_of([&] { read_vector(path); }).find("incorrect data check"), std::string::npos);
}

TEST(Idx, SaysWhatItExpected) {
  const TemporaryFolder folder;
  const auto expect_part = [&](const std::string& bytes, const std::string& part) {
    const auto path = folder.write("a", bytes);
    const std::string text = error_of([&] { read_vector(path); });
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_part("GIF89a..", "at byte 0: expected the bytes 0, 0, 8");
  expect_part(idx_header({2, 3}) + six_pixels, "at byte 3: expected 1 dimensions, found 2");
  expect_part(idx_header({0}), "at byte 4: expected an extent of at least 1");
  expect_part(idx_header({0xffffffff}) + six_pixels, "can hold no more than 6");
  expect_part(idx_header({5}) + six_pixels, "at byte 13: expected the end of the file");
  expect_part(std::string("\0\0", 2), "at byte 0: expected 4 bytes of IDX header, found 2");
  const auto huge = folder.write("b", idx_header({0xffffffff, 0xffffffff, 0xffffffff}));
  EXPECT_NE(error_of([&] { static_cast<void>(workloads::read_idx(huge, 3)); }).find("below 2^64"),
            std::string::npos);
  write_gzip(folder.path() / "c.gz", idx_header({0xffffffff}) + six_pixels);
  EXPECT_NE(error_of([&] { read_vector(folder.path() / "c.gz"); }).find("can hold no more than"),
            std::string::npos);
}

TEST(Idx, RefusesFoldersThatDoNotFitTogether) {
  const TemporaryFolder folder;
  const auto message = [&] {
    return error_of([&] { static_cast<void>(workloads::read_idx_dataset(folder.path())); });
  };
  EXPECT_NE(message().find("train-images-idx3-ubyte or train-images-idx3-ubyte.gz"), std::string::npos);
  write_dataset(folder);
  folder.write("t10k-labels-idx1-ubyte", idx_header({2}) + "\x01\x01");
  EXPECT_NE(message().find("expected 1 labels"), std::string::npos);
  folder.write("t10k-labels-idx1-ubyte", idx_header({1}) + "\x07");
  EXPECT_NE(message().find("label 7, expected less than 3"), std::string::npos);
  write_gzip(folder.path() / "t10k-images-idx3-ubyte.gz", idx_header({1, 2, 1}) + "\xff\x7f");
  folder.write("t10k-labels-idx1-ubyte", idx_header({1}) + "\x01");
  EXPECT_NE(message().find("differ in size"), std::string::npos);
}

TEST(Idx, SegmentsImages) {
  const TemporaryFolder folder;
  const std::string dark(8, '\x1f');
  // Two images of 2 x 4 pixels: only their last, their second pixel is above 31.
  const std::string images = std::string(7, '\x1f') + '\x20' + '\0' + '\xff' + std::string(6, '\0');
  folder.write("train-images-idx3-ubyte", idx_header({2, 2, 4}) + images);
  folder.write("train-labels-idx1-ubyte", idx_header({2}) + std::string("\x02\x00", 2));
  folder.write("t10k-images-idx3-ubyte", idx_header({1, 2, 4}) + dark);
  folder.write("t10k-labels-idx1-ubyte", idx_header({1}) + "\x01");
  workloads::DataOptions options = data_options("idx", folder.path().string());
  options.task = "segment";
  options.patch = 2;
  const auto data = workloads::make_dataset(options);
  EXPECT_EQ(data->shape(), (workloads::DataShape{1, 2, 4, 0, 4, 0, 2}));
  EXPECT_EQ(to_host(training_batch(*data, {0, 1}).targets), (std::vector<std::int32_t>{0, 3, 1, 0}));
  EXPECT_EQ(to_host(held_out_batch(*data, {0}).targets), (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(data->training_labels()[0], 2);
  options.patch = 4;
  EXPECT_THROW(static_cast<void>(workloads::make_dataset(options)), std::invalid_argument);
}

TEST(Idx, ReadsFashionMnist) {
  if (!std::filesystem::exists(workloads::default_idx_folder)) {
    GTEST_SKIP() << "Debian's dataset-fashion-mnist is not installed";
  }
  const auto data = workloads::make_dataset(data_options("idx", ""));
  EXPECT_EQ(data->shape(), (workloads::DataShape{1, 28, 28, 0, 10}));
  EXPECT_EQ(data->training_examples(), 60000);
  EXPECT_EQ(data->held_out_examples(), 10000);
  EXPECT_EQ(to_host(training_batch(*data, {0, 1, 2, 3}).targets), (std::vector<std::int32_t>{9, 0, 0, 3}));
}

}  // namespace
}  // namespace kadam::test::idx_test
