// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <io/temporary_folder.hpp>
#include <kadam/io/npy.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam::test::npy_test {
namespace {

using io::NpyArray;

/// A file with this dictionary, in version 1 or 2, and `elements` floats.
std::string npy_bytes(std::string dictionary, std::size_t elements, int version = 1) {
  dictionary += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0', static_cast<char>(dictionary.size()), '\0'};
  if (version == 2) {
    bytes += {'\0', '\0'};
  }
  bytes += dictionary;
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = static_cast<float>(i) + 0.5f;
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

TEST(Npy, RoundTripsEveryShape) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::int64_t>> shapes = {{}, {0}, {1}, {7}, {2, 3}, {4, 0, 2}, {2, 1, 3, 2}};
  for (const std::vector<std::int64_t>& shape : shapes) {
    const auto n = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<float> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), 0.25f);
    io::write_npy(folder.path() / "a.npy", shape, values);
    const NpyArray back = io::read_npy(folder.path() / "a.npy");
    EXPECT_EQ(back.shape, shape);
    EXPECT_EQ(back.values, values);
    EXPECT_EQ(folder.read("a.npy").size() % 64, values.size() * 4 % 64);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.npy.tmp"));
  }
}

TEST(Npy, KeepsEveryBit) {
  const TemporaryFolder folder;
  const std::vector<float> values = {-0.0f, std::numeric_limits<float>::quiet_NaN(),
                                     std::numeric_limits<float>::denorm_min(),
                                     -std::numeric_limits<float>::infinity()};
  const std::vector<std::int64_t> shape = {4};
  io::write_npy(folder.path() / "a.npy", shape, values);
  const NpyArray back = io::read_npy(folder.path() / "a.npy");
  EXPECT_EQ(std::memcmp(back.values.data(), values.data(), 16), 0);
}

TEST(Npy, ReadsBothVersionsAndAnyOrderOfKeys) {
  const TemporaryFolder folder;
  const std::string other = "{\"shape\":(2,3),'fortran_order':False ,'descr':'<f4'}    ";
  for (const int version : {1, 2}) {
    for (const std::string& dictionary : {good, other}) {
      const NpyArray array = io::read_npy(folder.write("a.npy", npy_bytes(dictionary, 6, version)));
      EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
      EXPECT_EQ(array.values[5], 5.5f);
    }
  }
}

TEST(Npy, RefusesTruncatedAndChangedFiles) {
  const TemporaryFolder folder;
  for (const int version : {1, 2}) {
    const std::string bytes = npy_bytes(good, 6, version);
    expect_refuses_other_lengths(folder, "a.npy", bytes, io::read_npy);
    expect_survives_changed_bytes(folder, "a.npy", bytes, io::read_npy);
  }
}

TEST(Npy, SaysWhatItExpected) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& bytes) {
    const auto path = folder.write("a.npy", bytes);
    return error_of([&] { static_cast<void>(io::read_npy(path)); });
  };
  const auto with = [&](const std::string& dictionary) { return message(npy_bytes(dictionary, 6)); };
  const auto expect_part = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_part(message("PK\x03\x04 a zip file"), "at byte 0: expected the bytes \\x93NUMPY");
  expect_part(message(npy_bytes(good, 6, 3)), "at byte 6: expected version 1.0 or 2.0, found 3.0");
  expect_part(with("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}"), "found '<f8'");
  expect_part(with("{'descr': '>f4', 'fortran_order': False, 'shape': (6,)}"), "found '>f4'");
  expect_part(with("{'descr': '<f4', 'fortran_order': True, 'shape': (6,)}"), "ascontiguousarray");
  expect_part(with("{'descr': '<f4', 'fortran_order': False}"), "found only some of them");
  expect_part(with("{'descr': '<f4', 'descr': '<f4', 'shape': (6,)}"), "once each, found 'descr'");
  expect_part(with("{'descr': '<f4', 'fortran_order': False, 'shape': (6)}"),
              "a comma after the only extent");
  expect_part(with("{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}"), "an extent of 0");
  expect_part(with("{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}"), "expected 28 bytes");
  expect_part(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"), "2^63");
  expect_part(with("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), "2^63");
  expect_part(with(good + " x"), "nothing after");
  expect_part(error_of([&] { static_cast<void>(io::read_npy(folder.path() / "none.npy")); }), "found none");
  expect_part(error_of([&] { static_cast<void>(io::read_npy(folder.path())); }), "found something else");
}

TEST(Npy, RefusesToWriteWhatCannotBe) {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> shape = {2, 2};
  const std::vector<std::int64_t> negative = {-1};
  const std::vector<float> values(3);
  EXPECT_THROW(io::write_npy(folder.path() / "a.npy", shape, values), std::invalid_argument);
  EXPECT_THROW(io::write_npy(folder.path() / "a.npy", negative, values), std::invalid_argument);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  const std::vector<std::int64_t> three = {3};
  EXPECT_NE(error_of([&] { io::write_npy(folder.path() / "no" / "a.npy", three, values); }).find("a.npy.tmp"),
            std::string::npos);
}

TEST(Npy, NumPyReadsAndWritesTheSame) {
  if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3 with numpy is not installed";
  }
  const TemporaryFolder folder;
  const std::vector<std::int64_t> shape = {2, 1, 3};
  const std::vector<float> values = {1, 2, 3, 4, 5, 6.5f};
  io::write_npy(folder.path() / "a.npy", shape, values);
  const std::string script =
      "import numpy as n; a = n.load('a.npy'); assert a.dtype == n.float32 and a.shape == (2, 1, 3); "
      "assert a[1, 0, 2] == 6.5; n.save('b.npy', a * 2); n.save('c.npy', n.float32(3)); "
      "n.save('d.npy', n.asfortranarray(n.ones((2, 3), n.float32)))";
  ASSERT_EQ(std::system(("cd '" + folder.path().string() + "' && python3 -c \"" + script + "\"").c_str()), 0);
  EXPECT_EQ(io::read_npy(folder.path() / "b.npy").values, (std::vector<float>{2, 4, 6, 8, 10, 13}));
  EXPECT_EQ(io::read_npy(folder.path() / "c.npy").values, (std::vector<float>{3}));
  EXPECT_THROW(static_cast<void>(io::read_npy(folder.path() / "d.npy")), std::runtime_error);
}

}  // namespace
}  // namespace kadam::test::npy_test
