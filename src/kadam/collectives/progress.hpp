// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace kadam {

/// Who moves a background exchange on while the program computes. The result is the same to the last bit.
enum class Progress : std::uint8_t {
  thread,  ///< a thread of its own, over a communicator of its own; on a spare core if there is one
  poll,    ///< the program, by calls between parts of its computation
  none,    ///< nobody: the exchange is done when it is started, and costs its time
};

}  // namespace kadam
