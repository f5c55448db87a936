// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/reader_fixture.hpp>
#include <workloads/text.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kadam::test::batch_fill_test {
namespace {

int fences = 0;
int allocations = 0;

/// What happens while a batch is filled again.
void count_events() {
  fences = 0;
  allocations = 0;
  namespace Tools = Kokkos::Tools::Experimental;
  Tools::set_begin_fence_callback([](const char*, std::uint32_t, std::uint64_t*) { ++fences; });
  Tools::set_allocate_data_callback(
      [](Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t) { ++allocations; });
}

class BatchFillTest : public testing::TestWithParam<std::string> {
 protected:
  static std::string text() {
    std::string bytes(400, ' ');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>('a' + i % 23);
    }
    return bytes;
  }
  static workloads::TextOptions options() {
    workloads::TextOptions options;
    options.context = 16;
    options.objective = GetParam();
    return options;
  }
};

TEST_P(BatchFillTest, WaitsOnceAndAllocatesOnce) {
  const TemporaryFolder folder;
  const workloads::TextDataset data(folder.write("text", text()), options());
  const ExecutionSpace exec;
  workloads::Batch batch;
  data.training_batch(exec, std::vector<std::int64_t>{0, 1, 2}, 0, batch);
  const auto previous = Kokkos::Tools::Experimental::get_callbacks();
  count_events();
  data.training_batch(exec, std::vector<std::int64_t>{5, 4, 3}, 1, batch);
  Kokkos::Tools::Experimental::set_callbacks(previous);
  EXPECT_EQ(fences, 1);
  EXPECT_EQ(allocations, 0);
}

TEST_P(BatchFillTest, ReplacesTheBatchBefore) {
  const TemporaryFolder folder;
  const workloads::TextDataset data(folder.write("text", text()), options());
  const ExecutionSpace exec;
  workloads::Batch batch;
  for (const std::vector<std::int64_t>& indices :
       std::vector<std::vector<std::int64_t>>{{0, 1, 2}, {9, 8, 7}, {4}, {11, 3, 6, 5}}) {
    data.training_batch(exec, indices, 2, batch);
    exec.fence("kadam::test: the batch");
    const workloads::Batch alone = training_batch(data, indices, 2);
    EXPECT_EQ(to_host(batch.tokens), to_host(alone.tokens));
    EXPECT_EQ(to_host(batch.positions), to_host(alone.positions));
    EXPECT_EQ(to_host(batch.targets), to_host(alone.targets));
  }
}

INSTANTIATE_TEST_SUITE_P(Objectives, BatchFillTest, testing::Values("causal", "masked"),
                         [](const auto& objective) { return objective.param; });

}  // namespace
}  // namespace kadam::test::batch_fill_test
