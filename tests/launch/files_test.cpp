// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <io/temporary_folder.hpp>
#include <launch/files.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace kadam::launch {
namespace {

std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(WholeFile, ReadsWhatItWrote) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "text";
  for (const std::string& text : {std::string("one\r\ntwo\n"), std::string(1 << 20, 'x'), std::string()}) {
    write_file(file, text);
    EXPECT_EQ(read_file(file), text);
  }
}

TEST(WholeFile, SaysThatItCannotBeWritten) {
  const test::TemporaryFolder folder;
  const std::filesystem::path nowhere = folder.path() / "missing" / "text";
  EXPECT_EQ(refusal_of([&] { write_file(nowhere, "text"); }), nowhere.string() + ": cannot be written");
  // Short enough for the buffer: only what is flushed finds out.
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_EQ(refusal_of([] { write_file("/dev/full", "text"); }), "/dev/full: cannot be written");
  }
}

TEST(WholeFile, SaysThatItCannotBeRead) {
  const test::TemporaryFolder folder;
  const std::filesystem::path missing = folder.path() / "missing";
  EXPECT_EQ(refusal_of([&] { (void)read_file(missing); }), missing.string() + ": cannot be read");
  EXPECT_EQ(refusal_of([&] { (void)read_file(folder.path()); }), folder.path().string() + ": cannot be read");
}

}  // namespace
}  // namespace kadam::launch
