// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <io/temporary_folder.hpp>
#include <support/host_views.hpp>
#include <workloads/make_dataset.hpp>

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace kadam::test {

inline void write_gzip(const std::filesystem::path& path, const std::string& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  gzclose(file);
}

/// An IDX header with big-endian extents.
inline std::string idx_header(const std::vector<std::uint32_t>& extents) {
  std::string bytes = {'\0', '\0', '\x08', static_cast<char>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (const int shift : {24, 16, 8, 0}) {
      bytes += static_cast<char>((extent >> shift) & 0xff);
    }
  }
  return bytes;
}

inline workloads::DataOptions data_options(const std::string& kind, const std::string& path) {
  workloads::DataOptions options;
  options.kind = kind;
  options.path = path;
  return options;
}

inline workloads::Batch training_batch(const workloads::Dataset& data,
                                       const std::vector<std::int64_t>& indices, std::int64_t epoch = 0) {
  workloads::Batch batch;
  data.training_batch(ExecutionSpace(), indices, epoch, batch);
  return batch;
}

inline workloads::Batch held_out_batch(const workloads::Dataset& data,
                                       const std::vector<std::int64_t>& indices) {
  workloads::Batch batch;
  data.held_out_batch(ExecutionSpace(), indices, batch);
  return batch;
}

}  // namespace kadam::test
