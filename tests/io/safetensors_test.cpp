// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <io/temporary_folder.hpp>
#include <kadam/io/safetensors.hpp>
#include <kadam/io/tensor_file.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam::test::safetensors_test {
namespace {

const TensorLayout layout({{"b.weight", 0, 3}, {"a.bias", 3, 4}, {"empty", 4, 4}, {"c", 4, 6}});
const std::vector<float> values = {1, 2, 3, -4, 5, 6.5f};
const io::Metadata metadata = {{"format", "kadam"}, {"step", "12"}};

std::string safetensors_bytes(const std::string& header, std::size_t floats) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  return bytes + header + std::string(4 * floats, '\0');
}

const std::string good = R"({"x":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
                         R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";

io::Safetensors read_file(const std::filesystem::path& path) {
  return io::read_safetensors(path);
}

TEST(TensorFile, ReadsNoFurtherThanATensor) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  io::write_safetensors(path, layout, values, metadata);
  io::TensorFile file(path);
  const std::ptrdiff_t tensor = file.find("b.weight");
  std::vector<float> read(3, 0.0F);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(read));
  file.read(tensor, 0, bytes);
  EXPECT_EQ(read, (std::vector<float>{1, 2, 3}));
  file.read(tensor, 2, bytes.first(sizeof(float)));
  EXPECT_EQ(read[0], 3.0F);
  EXPECT_THROW(file.read(tensor, 1, bytes), std::runtime_error);
  EXPECT_THROW(file.read(tensor, 4, bytes.first(0)), std::runtime_error);
  EXPECT_THROW(file.read(tensor, -1, bytes.first(sizeof(float))), std::runtime_error);
}

TEST(Safetensors, RoundTripsTensorsAndMetadata) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  io::write_safetensors(path, layout, values, metadata);
  const io::Safetensors back = io::read_safetensors(path);
  EXPECT_EQ(back.tensors, layout);
  EXPECT_EQ(back.values, values);
  EXPECT_EQ(back.metadata, metadata);
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".tmp"));
  EXPECT_EQ((folder.read("a.safetensors").size() - 8 - 24) % 8, 0U);
}

TEST(Safetensors, RoundTripsNothing) {
  const TemporaryFolder folder;
  io::write_safetensors(folder.path() / "a", TensorLayout(), {});
  EXPECT_EQ(io::read_safetensors(folder.path() / "a").tensors, TensorLayout());
}

TEST(Safetensors, ReadsIntoAnotherOrderByName) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a";
  io::write_safetensors(path, layout, values, metadata);
  const TensorLayout wanted({{"c", 0, 2}, {"empty", 2, 2}, {"b.weight", 2, 5}, {"a.bias", 5, 6}});
  std::vector<float> target(6);
  EXPECT_EQ(io::read_safetensors(path, wanted, target), metadata);
  EXPECT_EQ(target, (std::vector<float>{5, 6.5f, 1, 2, 3, -4}));

  const auto expect_refused = [&](const TensorLayout& other, const std::string& part) {
    std::vector<float> space(static_cast<std::size_t>(other.elements()));
    const std::string text = error_of([&] { io::read_safetensors(path, other, space); });
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_refused(TensorLayout({{"d", 0, 2}}), "expected a tensor 'd' of 2 elements, found none");
  expect_refused(TensorLayout({{"c", 0, 3}}), "expected a tensor 'c' of 3 elements, found 2");
  expect_refused(TensorLayout({{"c", 0, 2}}), "expected no tensor 'a.bias'");
  EXPECT_THROW(io::read_safetensors(path, wanted, std::span(target).first(5)), std::invalid_argument);
}

TEST(Safetensors, ReadsShapesOfAnyRank) {
  const TemporaryFolder folder;
  const auto file = io::read_safetensors(folder.write("a", safetensors_bytes(good, 7)));
  EXPECT_EQ(file.tensors, TensorLayout({{"s", 0, 1}, {"x", 1, 7}}));
}

TEST(Safetensors, RefusesTruncatedAndChangedFiles) {
  const TemporaryFolder folder;
  const std::string bytes = safetensors_bytes(good, 7);
  expect_refuses_other_lengths(folder, "a.safetensors", bytes, read_file);
  expect_survives_changed_bytes(folder, "a.safetensors", bytes, read_file);
}

TEST(Safetensors, SaysWhatItExpected) {
  const TemporaryFolder folder;
  const auto expect_part = [&](const std::string& header, const std::string& part) {
    const auto path = folder.write("a", safetensors_bytes(header, 2));
    const std::string text = error_of([&] { static_cast<void>(io::read_safetensors(path)); });
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  expect_part("[]", "a JSON object");
  expect_part("{", "a JSON object");
  expect_part(entry("F16", "[2]", "[0,8]"), "dtype F32");
  expect_part(entry("F32", "[-2]", "[0,8]"), "extents of 0 or more");
  expect_part(entry("F32", "[2.0]", "[0,8]"), "extents of 0 or more");
  expect_part(entry("F32", "[2]", "[0]"), "two data_offsets");
  expect_part(entry("F32", "[2]", "[8,0]"), "within the file");
  expect_part(entry("F32", "[3]", "[0,12]"), "within the file");
  expect_part(entry("F32", "[1]", "[0,8]"), "as many bytes as its shape");
  expect_part(entry("F32", "[4294967296,4294967296]", "[0,8]"), "fits into the file");
  expect_part(entry("F32", "[1]", "[4,8]"), "begin at byte 0");
  expect_part(entry("F32", "[1]", "[0,4]"), "expected 4 bytes of tensors");
  expect_part(R"({"x":{"dtype":"F32","shape":[2]}})", "dtype, shape and data_offsets");
  expect_part(R"({"__metadata__":{"a":1}})", "an object of strings");
  expect_part(R"({"__metadata__":"a"})", "an object of strings");
  const auto huge = folder.write("b", std::string(8, '\xff'));
  EXPECT_NE(
      error_of([&] { static_cast<void>(io::read_safetensors(huge)); }).find("header length of at most 0"),
      std::string::npos);
}

TEST(Safetensors, RefusesToWriteWhatCannotBe) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a";
  EXPECT_THROW(io::write_safetensors(path, layout, std::span(values).first(5)), std::invalid_argument);
  EXPECT_THROW(io::write_safetensors(path, TensorLayout({{"__metadata__", 0, 6}}), values),
               std::invalid_argument);
  EXPECT_THROW(io::write_safetensors(path, TensorLayout({{"\xff", 0, 6}}), values), std::invalid_argument);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Safetensors, APlainPythonReaderAgrees) {
  if (std::system("python3 -c 'import json, struct' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3 is not installed";
  }
  const TemporaryFolder folder;
  io::write_safetensors(folder.path() / "a", layout, values, metadata);
  const std::string script =
      "import json, struct; b = open('a', 'rb').read(); n = struct.unpack('<Q', b[:8])[0]; "
      "h = json.loads(b[8:8 + n]); t = h['c']; d = b[8 + n:]; assert n % 8 == 0; "
      "assert t['dtype'] == 'F32' and t['shape'] == [2] and h['__metadata__']['step'] == '12'; "
      "assert struct.unpack('<2f', d[t['data_offsets'][0]:t['data_offsets'][1]]) == (5.0, 6.5)";
  EXPECT_EQ(std::system(("cd '" + folder.path().string() + "' && python3 -c \"" + script + "\"").c_str()), 0);
}

}  // namespace
}  // namespace kadam::test::safetensors_test
