// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/device_event.hpp>

namespace kadam::test {

/// While it lives kernels seem to be done late, as on a device.
class LateMarks {
 public:
  explicit LateMarks(int questions) { DeviceEvent::answer_late(questions); }
  ~LateMarks() { DeviceEvent::answer_late(0); }
  LateMarks(const LateMarks&) = delete;
  LateMarks& operator=(const LateMarks&) = delete;
};

}  // namespace kadam::test
