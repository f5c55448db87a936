// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/detail/last_team.hpp>
#include <kadam/kernels/detail/magnitude_digit.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Counts, in a team's scratch memory, of each value (bin) of a digit in the magnitudes that the team looks
/// at; word `bins` counts the magnitudes whose higher digits are larger than the prefix that is found.
template <int Digit>
class TeamTally {
 public:
  static constexpr std::int64_t bins = MagnitudeDigit<Digit>::bins;
  static constexpr std::int64_t words = bins + 1;

  /// Uses the first `words` words of the team's scratch memory, and sets them to 0. Ends with a barrier.
  template <class Member>
  KOKKOS_FUNCTION TeamTally(const Member& member, std::uint32_t* memory) : counts_(memory) {
    member.for_each(words, [&](const std::int64_t bin) { counts_[bin] = 0; });
  }

  /// Counts a magnitude in `bin`, which MagnitudeDigit::bin() gave and which must not be -1. Any thread, no
  /// barrier.
  KOKKOS_FORCEINLINE_FUNCTION void count(std::int32_t bin) const { increment_in_scratch(counts_[bin]); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t operator[](std::int64_t bin) const {
    return counts_[bin];
  }

  /// all[0, bins) <- all + these counts, atomically: integers, so that the order of teams does not matter.
  template <class Member>
  KOKKOS_FUNCTION void add_to(const Member& member, std::uint32_t* all) const {
    member.for_each(bins, [&](const std::int64_t bin) {
      if (counts_[bin] != 0) Kokkos::atomic_add(&all[bin], counts_[bin]);
    });
  }

  /// Finds one more digit of the k-th largest from `all`, the counts of all teams: next <- so_far and this
  /// digit; all <- 0. Overwrites this team's counts.
  template <class Member>
  KOKKOS_FUNCTION void find(const Member& member, std::uint32_t* all, const FoundDigits& so_far,
                            FoundDigits& next) const {
    member.for_each_loaded(
        0, bins, [&](const std::int64_t bin) { return all[bin]; },
        [&](const std::int64_t bin, const std::uint32_t count) {
          counts_[bin] = count;
          all[bin] = 0;
        });
    member.barrier();
    const std::int64_t width = (bins + member.threads() - 1) / member.threads();
    (void)member.for_each_marked(
        member.threads(), [&](const std::int64_t t) { return sum_of(t, width); },
        [&](const std::int64_t t, const std::int64_t before) {
          std::int64_t above = before;
          for (std::int64_t r = t * width; r < bins && r < (t + 1) * width; ++r) {
            const std::int64_t bin = bins - 1 - r;
            const auto own = std::int64_t{counts_[bin]};
            if (above < so_far.wanted && above + own >= so_far.wanted) {
              next = {(so_far.prefix << MagnitudeDigit<Digit>::bits) | static_cast<std::int32_t>(bin),
                      so_far.wanted - above};
            }
            above += own;
          }
        });
  }

 private:
  /// The sum of the counts of thread t's `width` bins; bins are dealt out from the largest down. Neighbouring
  /// threads begin at different places of their bins: otherwise all would read the same bank of the scratch
  /// memory at the same time.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t sum_of(std::int64_t t, std::int64_t width) const {
    std::int64_t sum = 0;
    std::int64_t r = t % width;
    for (std::int64_t n = 0; n < width; ++n) {
      const std::int64_t bin = bins - 1 - (t * width + r);
      if (bin >= 0) sum += counts_[bin];
      r = r + 1 == width ? 0 : r + 1;
    }
    return sum;
  }

  std::uint32_t* counts_;
};

/// The search of all teams for the k-th largest magnitude: each kernel finds one more digit.
template <class MemorySpace>
struct DigitSearch {
  Kokkos::View<std::uint32_t*, MemorySpace> counts;  ///< of all teams; 0 before and after each kernel
  Kokkos::View<FoundDigits*, MemorySpace> found;     ///< found(i): after digit i
  Kokkos::View<std::uint32_t, MemorySpace> done;     ///< for is_last_team()
  std::int64_t k;

  /// Adds a team's counts to those of all teams; the last team to do so writes found(Digit). Every team of
  /// the kernel calls it, once; found(Digit) is for the next kernel to read.
  template <int Digit, class Member>
  KOKKOS_FUNCTION void finish(const Member& member, const TeamTally<Digit>& tally, std::int64_t teams) const {
    tally.add_to(member, counts.data());
    if (!is_last_team(member, done(), teams)) return;
    FoundDigits so_far{0, k};
    if constexpr (Digit > 0) so_far = found(Digit - 1);
    tally.find(member, counts.data(), so_far, found(Digit));
  }
};

}  // namespace kadam::detail
