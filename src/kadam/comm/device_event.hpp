// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <utility>

namespace kadam {

/// A mark behind the work that is enqueued on an execution space instance: an event of the device. The host
/// can ask whether it is reached, and other instances can wait for it, so that nobody waits for the whole
/// instance.
///
/// CUDA and HIP: their events, without timing. Serial and OpenMP: kernels are done when their launch returns,
/// so a mark is reached as soon as it is set. Other spaces: record() waits for the instance. Errors:
/// std::runtime_error of all calls if the device has failed.
class DeviceEvent {
 public:
  /// A mark behind nothing: it counts as reached.
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

  /// Sets the mark behind the work that is enqueued on exec now. The first call makes the device's event;
  /// later calls move the mark, which changes nothing for instances that were told to wait for it before.
  void record(const ExecutionSpace& exec);
  /// Whether the mark is reached.
  [[nodiscard]] bool is_reached();
  /// Makes the work that is enqueued on exec from now on wait for the mark; the host does not wait.
  void hold_back(const ExecutionSpace& exec) const;

  /// For tests where kernels run on the host, and marks are reached at once: is_reached() of a mark that is
  /// set from now on answers false `questions` times before it answers true.
  static void answer_late(int questions) { late_by = questions; }

 private:
  inline static int late_by = 0;

  void* event_ = nullptr;
  int questions_left_ = 0;
};

}  // namespace kadam
