// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/image_files.hpp>
#include <workloads/reader_fixture.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace kadam::test::cifar10_test {
namespace {

/// A record whose red, green and blue planes are constant.
std::string record(char label, char red, char green, char blue) {
  return label + std::string(1024, red) + std::string(1024, green) + std::string(1024, blue);
}

TEST(Cifar10, ReadsTheBatchesThatAreThere) {
  const TemporaryFolder folder;
  folder.write("data_batch_1.bin", record(3, 0, '\x33', '\xff') + record(9, 1, 2, 3));
  folder.write("data_batch_3.bin", record(0, '\xff', 0, 0));
  folder.write("test_batch.bin", record(5, 0, 0, '\xff'));
  const auto data = workloads::make_dataset(data_options("cifar10", folder.path().string()));
  EXPECT_EQ(data->shape(), (workloads::DataShape{3, 32, 32, 0, 10}));
  EXPECT_EQ(data->training_examples(), 3);
  EXPECT_EQ(data->held_out_examples(), 1);
  const workloads::Batch batch = training_batch(*data, {2, 0});
  EXPECT_EQ(to_host(batch.targets), (std::vector<std::int32_t>{0, 3}));
  const std::vector<float> images = to_host(batch.images);
  ASSERT_EQ(images.size(), 2U * 3072U);
  EXPECT_EQ(images[1023], 1.0f);
  EXPECT_EQ(images[1024], -1.0f);
  EXPECT_NEAR(images[3072 + 1024], -0.6f, 1e-6f);
  EXPECT_EQ(images[3072 + 3071], 1.0f);
}

TEST(Cifar10, SaysWhatItExpected) {
  const TemporaryFolder folder;
  const std::string good = record(1, 2, 3, 4);
  const auto expect_part = [&](const std::string& bytes, const std::string& part) {
    const auto path = folder.write("data_batch_1.bin", bytes);
    workloads::ImageSet set;
    const std::string text = error_of([&] { workloads::append_cifar10(path, set); });
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_part("", "at byte 0: expected the end of a record of 3073 bytes");
  expect_part(good.substr(0, 1), "at byte 1: expected the end of a record");
  expect_part(good + good.substr(0, 3072), "at byte 6145: expected the end of a record");
  expect_part(good + '\0', "at byte 3074");
  expect_part(good + record(10, 0, 0, 0), "at byte 3073: expected a label from 0 to 9, found 10");
  folder.write("data_batch_1.bin", good);
  EXPECT_NE(error_of([&] {
              static_cast<void>(workloads::read_cifar10_dataset(folder.path()));
            }).find("test_batch.bin"),
            std::string::npos);
}

}  // namespace
}  // namespace kadam::test::cifar10_test
