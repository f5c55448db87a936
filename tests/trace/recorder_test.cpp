// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/recorder.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace kadam::trace {
namespace {

TEST(Recorder, KeepsNamesOnce) {
  Recorder recorder;
  recorder.add(Track::compute, "a", 1.0, 3.0);
  recorder.add(Track::codec, "b", 1.0, 2.0);
  recorder.add(Track::compute, "a", 4.0, 4.5);
  ASSERT_EQ(recorder.events().size(), 3U);
  EXPECT_EQ(recorder.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(recorder.events()[2].name, recorder.events()[0].name);
  EXPECT_EQ(recorder.events()[0].length, 2.0);
}

TEST(Recorder, CountsWhatFindsNoRoom) {
  Recorder recorder(2);
  for (int k = 0; k < 5; ++k) recorder.add(Track::compute, "a", 0.0, 1.0);
  EXPECT_EQ(recorder.events().size(), 2U);
  EXPECT_EQ(recorder.left_out(), 3U);
}

TEST(Recorder, KeepsNothingWhileItIsToldSo) {
  Recorder recorder;
  recorder.keep(false);
  recorder.add(Track::compute, "a", 0.0, 1.0);
  recorder.keep(true);
  recorder.add(Track::compute, "b", 0.0, 1.0);
  EXPECT_EQ(recorder.names(), std::vector<std::string>{"b"});
  EXPECT_EQ(recorder.left_out(), 0U);
}

TEST(Recorder, IsToldByTwoThreadsAtOnce) {
  Recorder recorder;
  const auto tell = [&recorder](Track track, const char* name) {
    for (int k = 0; k < 10000; ++k) recorder.add_message(track, name, recorder.now(), 0.0, 1, 8);
  };
  std::thread other(tell, Track::background, "other");
  tell(Track::network, "own");
  other.join();
  EXPECT_EQ(recorder.events().size(), 20000U);
  for (const Event& event : recorder.events())
    EXPECT_EQ(recorder.names()[event.name], event.track == Track::network ? "own" : "other");
}

}  // namespace
}  // namespace kadam::trace
