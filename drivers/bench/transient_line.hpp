// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace kadam::bench {

/// A line of standard error that is there for a moment, on a terminal alone: what is done now.
class TransientLine {
 public:
  explicit TransientLine(bool enabled);

  void says(const std::string& words);
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
};

}  // namespace kadam::bench
