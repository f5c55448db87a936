// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace kadam::launch {

/// While it lives, these signals do not end the program: it asks whether one has come, and ends at a place of
/// its own choosing. The library installs no handlers; programs do.
///
/// A second signal of the same kind ends the program at once, as without this: nobody has to wait for a step
/// that never ends.
class StopSignals {
 public:
  /// "TERM", "USR1", "SIGINT". Errors: UsageError for a name that is no signal that can be waited for.
  explicit StopSignals(const std::vector<std::string>& names);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The name of the signal that has come, as in "SIGTERM"; empty while none has.
  [[nodiscard]] static std::string arrived();

 private:
  std::vector<int> numbers_;
};

}  // namespace kadam::launch
