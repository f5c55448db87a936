// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <utility>

namespace kadam {

/// A mark behind what is enqueued on an execution space instance: a device's event, which the host asks and
/// other instances wait for, so that nobody waits for the whole instance.
///
/// CUDA and HIP: their events, without a clock. Serial and OpenMP: kernels are done when their launch
/// returns, and a mark is reached when it is set. Other spaces: to set a mark waits for the instance.
class DeviceEvent {
 public:
  /// Marks nothing: it is reached.
  DeviceEvent() = default;
  ~DeviceEvent();  // NOLINT(performance-trivially-destructible): of a device it is not
  DeviceEvent(DeviceEvent&& other) noexcept
      : event_(std::exchange(other.event_, nullptr)), questions_left_(other.questions_left_) {}
  DeviceEvent& operator=(DeviceEvent&& other) noexcept {
    std::swap(event_, other.event_);
    std::swap(questions_left_, other.questions_left_);
    return *this;
  }
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  /// Sets the mark behind what is enqueued on exec now. The first call makes the device's event; the next
  /// ones move it, which changes nothing for instances that were told to wait before.
  void record(const ExecutionSpace& exec);
  /// Whether the mark is reached. Errors: std::runtime_error if the device has failed.
  [[nodiscard]] bool is_reached();
  /// What is enqueued on exec from now on waits for the mark; the host does not.
  void hold_back(const ExecutionSpace& exec) const;

  /// For tests on the host's processors, where nobody would ever wait: marks that are set from now on are
  /// reached after so many questions.
  static void answer_late(int questions) { late_by = questions; }

 private:
  inline static int late_by = 0;

  void* event_ = nullptr;
  int questions_left_ = 0;
};

}  // namespace kadam
