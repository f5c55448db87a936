// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/manifest.hpp>
#include <kadam/io/host_file.hpp>
#include <kadam/io/xxhash64.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string_view>

namespace kadam::checkpoint {
namespace {

constexpr std::uint64_t most_manifest_bytes = 100'000'000;

std::uint64_t hash_of(std::string_view text) {
  io::XxHash64 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.value();
}

std::string hex(std::uint64_t value) {
  char text[17];
  (void)std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// Reads a text word by word; its errors say at which byte.
class Words {
 public:
  Words(const io::detail::HostFileReader& file, std::string_view text) : file_(file), text_(text) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool follows(std::string_view words) const { return text_.substr(at_).starts_with(words); }

  void expect(std::string_view words) {
    if (!follows(words)) fail("'" + std::string(words.substr(0, words.find('\n'))) + "'");
    at_ += words.size();
  }

  /// The characters up to the next `end`, which is passed over.
  std::string_view word(char end, const char* what) {
    const std::size_t found = text_.find(end, at_);
    const std::size_t line = std::min(text_.find('\n', at_), text_.size());
    if (found == std::string_view::npos || found > line || found == at_) fail(what);
    const std::string_view word = text_.substr(at_, found - at_);
    at_ = found + 1;
    return word;
  }

  template <class Number>
  Number number(char end, const char* what, int base = 10) {
    const std::size_t begin = at_;
    const std::string_view digits = word(end, what);
    Number value{};
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc{} || last != digits.data() + digits.size() || digits.front() == '-') {
      at_ = begin;
      fail(what);
    }
    return value;
  }

  [[noreturn]] void fail(const std::string& expected) const { file_.fail(at_, expected); }

 private:
  const io::detail::HostFileReader& file_;
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string read_text(io::detail::HostFileReader& file) {
  if (file.bytes_left() > most_manifest_bytes) file.fail(0, "a list of files, found more than 100 MB");
  std::string text(file.bytes_left(), '\0');
  file.read(std::as_writable_bytes(std::span(text)), "text");
  return text;
}

ManifestFile read_file_line(Words& words) {
  ManifestFile file;
  words.expect("file ");
  file.hash = words.number<std::uint64_t>(' ', "a hash of 16 hexadecimal digits", 16);
  file.bytes = words.number<std::uint64_t>(' ', "a number of bytes");
  file.name = words.word('\n', "a file name");
  if (file.name.find('/') != std::string::npos) words.fail("a file name without '/' before this byte");
  return file;
}

}  // namespace

std::string to_text(const Manifest& manifest) {
  std::string text = "kadam checkpoint " + std::to_string(format_version) + "\n";
  text += "optimizer " + manifest.optimizer + "\n";
  text += "step " + std::to_string(manifest.step) + "\n";
  text += "ranks " + std::to_string(manifest.ranks) + "\n";
  for (const ManifestFile& file : manifest.files) {
    text += "file " + hex(file.hash) + " " + std::to_string(file.bytes) + " " + file.name + "\n";
  }
  return text + "end " + hex(hash_of(text)) + "\n";
}

Manifest read_manifest(const std::filesystem::path& checkpoint) {
  io::detail::HostFileReader file(checkpoint / manifest_name);
  const std::string text = read_text(file);
  Words words(file, text);
  words.expect("kadam checkpoint ");
  const auto version = words.number<std::int64_t>('\n', "a format version");
  if (version != format_version) {
    file.fail(0, "format version " + std::to_string(format_version) + ", found " + std::to_string(version) +
                     ": use the version of Kadam that wrote it");
  }
  Manifest manifest;
  words.expect("optimizer ");
  manifest.optimizer = words.word('\n', "the name of an optimizer");
  words.expect("step ");
  manifest.step = words.number<std::int64_t>('\n', "a number of steps");
  words.expect("ranks ");
  manifest.ranks = words.number<std::int64_t>('\n', "a number of ranks");
  while (words.follows("file ")) manifest.files.push_back(read_file_line(words));
  const std::size_t end = words.at();
  words.expect("end ");
  const auto hash = words.number<std::uint64_t>('\n', "a hash of 16 hexadecimal digits", 16);
  if (words.at() != text.size()) words.fail("the end of the file");
  if (hash != hash_of(std::string_view(text).substr(0, end)) || to_text(manifest) != text)
    file.fail(end, "the hash of the lines before, found another: the file has changed since it was written");
  return manifest;
}

void require_intact(const std::filesystem::path& checkpoint, const ManifestFile& file) {
  io::detail::HostFileReader reader(checkpoint / file.name);
  if (reader.bytes_left() != file.bytes) {
    reader.fail(std::min(reader.bytes_left(), file.bytes), std::to_string(file.bytes) + " bytes in all, as " +
                                                               manifest_name + " says, found " +
                                                               std::to_string(reader.bytes_left()));
  }
  io::XxHash64 hash;
  std::vector<std::byte> buffer(std::min<std::uint64_t>(file.bytes, std::uint64_t{1} << 20U));
  while (reader.bytes_left() > 0) {
    const auto part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), reader.bytes_left()));
    reader.read(part, "contents");
    hash.add(part);
  }
  if (hash.value() != file.hash) {
    throw std::runtime_error((checkpoint / file.name).string() + ": expected contents with the XXH64 " +
                             hex(file.hash) + ", as " + manifest_name + " says, found " + hex(hash.value()) +
                             ": the file has changed since it was written");
  }
}

}  // namespace kadam::checkpoint
