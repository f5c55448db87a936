// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/watchdog.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

namespace {

bool has_threads = true;

int ranks() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

}  // namespace

/// Found before MPI's own: what it says is what the watchdog believes.
extern "C" int MPI_Query_thread(int* provided) {
  *provided = has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
  return MPI_SUCCESS;
}

namespace kadam::launch {
namespace {

// No test waits longer than the watchdog's first period, so none of its messages is sent by these threads.
constexpr double patience_seconds = 600.0;

TEST(Watchdog, WatchesWhereThereAreOtherRanks) {
  has_threads = true;
  EXPECT_EQ(Watchdog("watchdog_test", patience_seconds).watches(), ranks() > 1);
}

TEST(Watchdog, DoesNotWatchWithoutPatience) {
  has_threads = true;
  EXPECT_FALSE(Watchdog("watchdog_test", 0.0).watches());
}

TEST(Watchdog, DoesNotWatchWithoutThreadsThatMaySend) {
  has_threads = false;
  EXPECT_FALSE(Watchdog("watchdog_test", patience_seconds).watches());
}

}  // namespace
}  // namespace kadam::launch
