// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/pipelined_reduction.hpp>
#include <support/scripted_transport.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace kadam {
namespace {

constexpr int ranks = 3;
constexpr std::int64_t elements = 3 * 640;

/// What one of three ranks has sent, and how much at a time, when a reduction over 30 slices is done.
struct Sent {
  std::size_t messages = 0;
  std::size_t most_at_a_time = 0;
};

Sent reduce_slices(std::size_t most_sending) {
  auto owned = std::make_unique<test::ScriptedTransport>(1, ranks);
  const test::ScriptedTransport& transport = *owned;
  Communicator communicator(std::move(owned));
  const ChunkLayout layout(elements, ranks);
  SlicedChunks slices;
  cut_numbers<float>(slices, layout, 64 * sizeof(float));
  std::vector<std::byte> values(elements * sizeof(float));
  std::vector<std::byte> parts(elements * sizeof(float));
  const std::array<ExchangeBuffers, 2> buffers = {ExchangeBuffers{values, parts},
                                                  ExchangeBuffers{values, values}};
  ReductionSteps steps;
  steps.encode = [](int /*chunk*/, const Slice& /*slice*/) {};
  steps.reduce = [](const Slice& /*slice*/) {};
  Exchange exchange(communicator, Traffic::background, buffers);
  ReductionRun run(slices, 1, ReductionRun::Replies::to_all, exchange, steps, most_sending);
  while (run.advance() != ReductionRun::State::done) continue;
  return {transport.sent().size(), transport.most_sending()};
}

/// 10 slices for each of two owners, and replies to 10 of its own for two ranks.
TEST(ReductionRun, HasNoMoreSendsUnderWayThanItMay) {
  constexpr std::size_t all = 40;
  const Sent freely = reduce_slices(ReductionRun::no_limit);
  EXPECT_EQ(freely.messages, all);
  EXPECT_GT(freely.most_at_a_time, 10U);
  for (const std::size_t most : {1U, 2U, 4U}) {
    const Sent slowly = reduce_slices(most);
    EXPECT_EQ(slowly.messages, all);
    EXPECT_LE(slowly.most_at_a_time, most - 1 + (ranks - 1)) << "of at most " << most;
  }
}

/// A slice that must wait is not forgotten.
TEST(ReductionRun, SendsNothingUntilItMay) {
  auto owned = std::make_unique<test::ScriptedTransport>(0, ranks);
  const test::ScriptedTransport& transport = *owned;
  Communicator communicator(std::move(owned));
  SlicedChunks slices;
  cut_numbers<float>(slices, ChunkLayout(elements, ranks), 64 * sizeof(float));
  std::vector<std::byte> values(elements * sizeof(float));
  std::vector<std::byte> parts(elements * sizeof(float));
  const std::array<ExchangeBuffers, 2> buffers = {ExchangeBuffers{values, parts},
                                                  ExchangeBuffers{values, values}};
  std::size_t reduced = 0;
  ReductionSteps steps;
  steps.encode = [](int /*chunk*/, const Slice& /*slice*/) {};
  steps.reduce = [&](const Slice& /*slice*/) { ++reduced; };
  Exchange exchange(communicator, Traffic::background, buffers);
  ReductionRun run(slices, 0, ReductionRun::Replies::to_all, exchange, steps);
  using MayLeave = ReductionRun::MayLeave;
  for (int turn = 0; turn < 5; ++turn) (void)run.advance(MayLeave::nothing);
  EXPECT_EQ(transport.sent().size(), 0U);
  for (std::size_t number = 0; number < slices.of_chunk(0).size(); ++number) run.encode(0, number);
  for (int turn = 0; turn < 5; ++turn) (void)run.advance(MayLeave::nothing);
  EXPECT_EQ(reduced, 0U);
  EXPECT_NE(run.advance(MayLeave::replies), ReductionRun::State::done);
  EXPECT_EQ(reduced, 10U);
  EXPECT_EQ(transport.sent().size(), 20U);
  while (run.advance() != ReductionRun::State::done) continue;
  EXPECT_EQ(transport.sent().size(), 40U);
}

}  // namespace
}  // namespace kadam
