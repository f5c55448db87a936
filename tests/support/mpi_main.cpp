// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

/// A test that fails on one rank fails on all: every rank runs the same tests, and the results are reduced.
class ReduceFailures : public testing::EmptyTestEventListener {
 public:
  explicit ReduceFailures(int rank) : rank_(rank) {}

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed() && rank_ != 0) {
      std::printf("rank %d, %s:%d: %s\n", rank_, result.file_name() != nullptr ? result.file_name() : "?",
                  result.line_number(), result.message());
      std::fflush(stdout);
    }
  }
  void OnTestEnd(const testing::TestInfo& info) override {
    int failed = info.result()->Failed() ? 1 : 0;
    const int own = failed;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    failed_ = failed_ || failed != 0;
    if (rank_ == 0 && own == 0 && failed != 0) std::printf("%s failed on another rank\n", info.name());
  }

 public:
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  int rank_;
  bool failed_ = false;
};

/// ctest counts ranks; a launcher of another MPI would start n programs of one rank each, and all would pass.
bool launched_as_expected(int size) {
  const char* expected = std::getenv("KADAM_TEST_RANKS");
  return expected == nullptr || std::atoi(expected) == size;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool failed = true;
  if (launched_as_expected(size)) {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank != 0) delete listeners.Release(listeners.default_result_printer());
    auto* reduce = new ReduceFailures(rank);  // owned by GoogleTest
    listeners.Append(reduce);
    const bool own_failed = RUN_ALL_TESTS() != 0;
    failed = own_failed || reduce->failed();
  } else {
    std::printf(
        "this program runs on %d rank(s), the test wants %s: is mpirun of the MPI it was built with?\n", size,
        std::getenv("KADAM_TEST_RANKS"));
  }
  MPI_Finalize();
  return failed ? 1 : 0;
}
