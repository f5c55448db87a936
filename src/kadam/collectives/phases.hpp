// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace kadam {

/// The activities within a step whose time is measured (StepResult::phase is another thing). check: norms,
/// and the agreement of all ranks before the update. encode: messages are made, those of owners too.
/// exchange: the rank waits for messages and has nothing to compute. decode: messages are read, dense parts
/// averaged, and parameters updated.
enum class Phase : std::uint8_t { check, encode, exchange, decode };
inline constexpr std::size_t phase_count = 4;

/// The name of the profiling region of a phase.
[[nodiscard]] inline const char* region_of(Phase phase) {
  constexpr std::array<const char*, phase_count> names = {"kadam::check", "kadam::encode", "kadam::exchange",
                                                          "kadam::decode"};
  return names[static_cast<std::size_t>(phase)];
}

/// A Kokkos profiling region around each phase of a step and, if asked for, its seconds.
///
/// Timing waits for the execution space at the end of every phase; without it nothing waits.
class Phases {
 public:
  using Seconds = std::array<double, phase_count>;

  void measure(bool enabled) { measured_ = enabled; }
  void start_step() { seconds_.fill(0.0); }
  /// The seconds of each phase in the last step; zeros when not measured. To be read before the next
  /// Optimizer::gradient_ready(), which adds its time, as progress() does; start_step() sets it to 0.
  [[nodiscard]] const Seconds& seconds() const { return seconds_; }

  /// Ends the phase when it goes out of scope.
  class Scope {
   public:
    Scope(Phases& phases, const ExecutionSpace& exec, Phase phase)
        : phases_(phases), exec_(exec), phase_(phase) {
      Kokkos::Profiling::pushRegion(region_of(phase));
    }
    ~Scope() {
      if (phases_.measured_) {
        exec_.fence("kadam::Phases: end of a timed phase");
        phases_.seconds_[static_cast<std::size_t>(phase_)] += timer_.seconds();
      }
      Kokkos::Profiling::popRegion();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Phases& phases_;
    ExecutionSpace exec_;
    Phase phase_;
    Kokkos::Timer timer_;
  };

  [[nodiscard]] Scope enter(const ExecutionSpace& exec, Phase phase) { return Scope(*this, exec, phase); }

 private:
  bool measured_ = false;
  Seconds seconds_{};
};

}  // namespace kadam
