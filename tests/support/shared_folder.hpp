// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <mpi.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace kadam::test {

/// A temporary folder that all ranks of MPI_COMM_WORLD see; its destructor removes it. Construction and
/// destruction are collective.
class SharedFolder {
 public:
  SharedFolder() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    std::array<char, 256> name{};
    if (rank_ == 0) {
      const std::string wanted = (std::filesystem::temp_directory_path() / "kadam-test-XXXXXX").string();
      wanted.copy(name.data(), name.size() - 1);
      if (mkdtemp(name.data()) == nullptr) std::abort();
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name.data();
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder() {
    MPI_Barrier(MPI_COMM_WORLD);
    std::error_code ignored;
    if (rank_ == 0) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  int rank_ = 0;
  std::filesystem::path path_;
};

}  // namespace kadam::test
