// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace kadam::test {

/// A folder of this process, removed with everything in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("kadam-test-" + std::to_string(::getpid()) + "-" + std::to_string(next_number()))) {
    std::filesystem::create_directory(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream stream(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  static int next_number() {
    static int number = 0;
    return number++;
  }

  std::filesystem::path path_;
};

/// The text of the std::runtime_error that `action` throws; a failure if it throws nothing or something else.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// That `read(path)` refuses every beginning of `bytes`, and those with one byte more, naming the file.
template <class Read>
void expect_refuses_other_lengths(const TemporaryFolder& folder, const std::string& name,
                                  const std::string& bytes, const Read& read) {
  for (std::size_t length = 0; length <= bytes.size() + 1; ++length) {
    if (length == bytes.size()) {
      continue;
    }
    const std::string changed = length < bytes.size() ? bytes.substr(0, length) : bytes + 'x';
    const auto path = folder.write(name, changed);
    EXPECT_NE(error_of([&] { read(path); }).find(name + ": at byte "), std::string::npos) << length;
  }
}

/// That `read(path)` throws std::runtime_error or nothing, whichever byte of `bytes` is replaced by anything.
template <class Read>
void expect_survives_changed_bytes(const TemporaryFolder& folder, const std::string& name,
                                   const std::string& bytes, const Read& read) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff, static_cast<int>('9'), static_cast<int>('{')}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      const auto path = folder.write(name, changed);
      try {
        read(path);
      } catch (const std::runtime_error&) {
      }
    }
  }
}

}  // namespace kadam::test
