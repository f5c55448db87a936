// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/listeners.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <map>

namespace kadam::trace {
namespace {

void run_kernel(const char* label) {
  Kokkos::parallel_for(label, Kokkos::RangePolicy<>(0, 1), KOKKOS_LAMBDA(int){});
}

std::map<std::string, Track> tracks_of(const Recorder& recorder) {
  std::map<std::string, Track> tracks;
  for (const Event& event : recorder.events()) tracks[recorder.names()[event.name]] = event.track;
  return tracks;
}

TEST(KokkosEvents, ThePhasesOfAnOptimizerAndItsKernelsHaveATrackOfTheirOwn) {
  const auto recorder = std::make_shared<Recorder>();
  {
    const KokkosEvents events(recorder);
    Kokkos::Profiling::pushRegion("step");
    run_kernel("model");
    run_kernel("kadam::workloads::model");
    run_kernel("kadam::adam_update");
    Kokkos::Profiling::pushRegion("kadam::encode");
    run_kernel("callback of the program");
    Kokkos::Profiling::popRegion();
    run_kernel("model again");
    Kokkos::Profiling::popRegion();
  }
  run_kernel("nobody listens");
  const std::map<std::string, Track> expected = {{"step", Track::compute},
                                                 {"model", Track::compute},
                                                 {"kadam::workloads::model", Track::compute},
                                                 {"kadam::adam_update", Track::codec},
                                                 {"kadam::encode", Track::codec},
                                                 {"callback of the program", Track::codec},
                                                 {"model again", Track::compute}};
  EXPECT_EQ(tracks_of(*recorder), expected);
}

TEST(KokkosEvents, WhatLiesInARegionIsNoLongerThanTheRegion) {
  const auto recorder = std::make_shared<Recorder>();
  {
    const KokkosEvents events(recorder);
    Kokkos::Profiling::pushRegion("outer");
    run_kernel("inner");
    Kokkos::Profiling::popRegion();
  }
  ASSERT_EQ(recorder->events().size(), 2U);  // in the order of their ends
  const Event& inner = recorder->events()[0];
  const Event& outer = recorder->events()[1];
  EXPECT_GE(inner.begin, outer.begin);
  EXPECT_LE(inner.begin + inner.length, outer.begin + outer.length);
}

TEST(KokkosEvents, ThereIsOneAtATime) {
  const KokkosEvents events(std::make_shared<Recorder>());
  EXPECT_THROW(const KokkosEvents other(std::make_shared<Recorder>()), std::runtime_error);
}

}  // namespace
}  // namespace kadam::trace
