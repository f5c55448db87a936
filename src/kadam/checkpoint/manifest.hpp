// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kadam::checkpoint {

/// The version of the format that is written. A reader takes it and the version before (there is none before
/// 1).
inline constexpr std::int64_t format_version = 1;

/// One file of a checkpoint, with its length and its hash when it was written.
struct ManifestFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  ///< XXH64

  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

/// The contents of the file that is written last: a checkpoint with such a file is complete. Lines of text:
///
///   kadam checkpoint 1
///   optimizer onebit_adam
///   step 1200
///   ranks 4
///   file 1b3f0a9d2c4e5f60 123456 state-0-of-4.safetensors      XXH64, bytes, name; one line for each
///   end 90abcdef12345678                                       XXH64 of all lines before
struct Manifest {
  std::string optimizer;
  std::int64_t step = 0;
  std::int64_t ranks = 0;
  std::vector<ManifestFile> files;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// The name of the file that holds a Manifest.
inline constexpr const char* manifest_name = "MANIFEST";

[[nodiscard]] std::string to_text(const Manifest& manifest);

/// Reads the manifest of the checkpoint in this folder.
/// Errors: std::runtime_error "<file>: at byte <offset>: expected ...", also for another version.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& checkpoint);

/// Throws std::runtime_error, which names the file, unless its length and its hash are those in `file`.
void require_intact(const std::filesystem::path& checkpoint, const ManifestFile& file);

}  // namespace kadam::checkpoint
