// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace kadam {

/// A kernel as costs name it: a machine's calibration has the seconds of an element under this name. An
/// element is one that the kernel walks over; of messages, one of any of them.
struct Kernel {
  std::string_view operation;
  double bytes_per_element = 0.0;  ///< that it must move at least: its cost where nothing was measured
  std::string_view code = {};      ///< of operations that each code has for itself

  /// "adam_update", "encode_sign".
  [[nodiscard]] std::string name() const {
    std::string text(operation);
    if (!code.empty()) text.append("_").append(code);
    return text;
  }
};

/// A kernel over so many elements, in the mean of the steps of a phase.
struct Work {
  Kernel kernel;
  double elements = 0.0;
};

namespace cost {

inline constexpr Kernel check{"check", 4.0};  ///< |g|^2: one read
inline constexpr Kernel scale{"scale", 8.0};  ///< x in place: what else is written, not read elsewhere
inline constexpr Kernel copy{"copy", 8.0};    ///< from one vector to another
inline constexpr Kernel adam_update{"adam_update", 28.0};                   ///< dense Adam
inline constexpr Kernel adam_update_half{"adam_update_half", 26.0};         ///< from a gradient of 16 bits
inline constexpr Kernel update_byte_moments{"update_byte_moments", 16.06};  ///< with moments in 8 bits
inline constexpr Kernel update_byte_moments_half{"update_byte_moments_half", 14.06};  ///< both
inline constexpr Kernel lamb_update{"lamb_update", 40.0};                             ///< dense LAMB
inline constexpr Kernel dense_mean{"dense_mean", 5.0};  ///< the owner's sum; per element and message
inline constexpr Kernel accumulate_direction{"accumulate_direction",
                                             28.0};      ///< moments; direction to residual
inline constexpr Kernel local_step{"local_step", 36.0};  ///< 0/1 Adam between synchronisations
inline constexpr Kernel onebit_lamb_update{"onebit_lamb_update", 48.0};  ///< beside encoding and decoding
inline constexpr Kernel reply{"reply", 8.13};  ///< the owner's code of the sum; per element of its chunk
inline constexpr Kernel loco_mean{"loco_mean", 1.5};            ///< LoCo's sum; per element and message
inline constexpr Kernel top_k_percent{"top_k_percent", 4.0};    ///< the largest 1 % of every select block
inline constexpr Kernel top_k_permille{"top_k_permille", 4.0};  ///< about 0.1 %
inline constexpr Kernel top_k_all_percent{"top_k_all_percent", 8.0};    ///< of the whole vector at once
inline constexpr Kernel top_k_all_permille{"top_k_all_permille", 8.0};  ///< and about 0.1 %
inline constexpr Kernel sparse_sum{"sparse_sum", 100.0};                ///< per entry that came from any rank
inline constexpr Kernel sparse_apply{"sparse_apply", 200.0};  ///< per entry that came back from an owner
/// Per multiplication and addition; not bound by memory: a GPU does 100 in the time of a byte.
inline constexpr Kernel matrix_product{"matrix_product", 0.1};
inline constexpr Kernel multiply_by_right{"multiply_by_right", 8.0};   ///< a low-rank mean's M Q
inline constexpr Kernel multiply_by_left{"multiply_by_left", 8.0};     ///< and its transposed M times P
inline constexpr Kernel subtract_low_rank{"subtract_low_rank", 16.0};  ///< mean and new error

/// All that have no code.
inline constexpr std::array plain_kernels = {check,
                                             scale,
                                             copy,
                                             adam_update,
                                             adam_update_half,
                                             update_byte_moments,
                                             update_byte_moments_half,
                                             lamb_update,
                                             dense_mean,
                                             accumulate_direction,
                                             local_step,
                                             onebit_lamb_update,
                                             reply,
                                             loco_mean,
                                             top_k_percent,
                                             top_k_permille,
                                             top_k_all_percent,
                                             top_k_all_permille,
                                             sparse_sum,
                                             sparse_apply,
                                             matrix_product,
                                             multiply_by_right,
                                             multiply_by_left,
                                             subtract_low_rank};

/// Those of a code with so many bits an element.
[[nodiscard]] constexpr Kernel encode(std::string_view code, int bits) {  ///< with error feedback
  return {"encode", 12.0 + 2.0 * bits / 8.0, code};
}
[[nodiscard]] constexpr Kernel encode_short(std::string_view code, int bits) {  ///< with errors in bf16
  return {"encode_short", 8.0 + 2.0 * bits / 8.0, code};
}
[[nodiscard]] constexpr Kernel reduce(std::string_view code, int bits) {  ///< per element and message
  return {"reduce", bits / 8.0, code};
}
[[nodiscard]] constexpr Kernel decode(std::string_view code, int bits) {  ///< with the update
  return {"decode", 12.0 + bits / 8.0, code};
}
[[nodiscard]] constexpr Kernel loco_encode(std::string_view code, int bits) {  ///< of uniform codes
  return {"loco_encode", 6.05 + bits / 8.0, code};
}

}  // namespace cost
}  // namespace kadam
