// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace kadam {

/// A kernel, under the name by which a machine's calibration knows its seconds per element.
///
/// An element is one that the kernel reads or writes. A kernel that reads n messages has n elements for each
/// element of the vector.
struct Kernel {
  std::string_view operation;
  double bytes_per_element = 0.0;  ///< that it must move at least: its cost where nothing was measured
  std::string_view code = {};      ///< the name of the code, if the operation has a kernel for each code

  /// The operation, and the code if there is one: "adam_update", "encode_sign".
  [[nodiscard]] std::string name() const {
    std::string text(operation);
    if (!code.empty()) text.append("_").append(code);
    return text;
  }
};

/// The work of one kernel in a step: in the mean over the steps of a phase it has `elements` elements.
struct Work {
  Kernel kernel;
  double elements = 0.0;
};

namespace cost {

inline constexpr Kernel check{"check", 4.0};  ///< |g|^2: one read
inline constexpr Kernel scale{"scale", 8.0};  ///< x in place; stands for passes that have no kernel here
inline constexpr Kernel copy{"copy", 8.0};    ///< one vector into another
inline constexpr Kernel adam_update{"adam_update", 28.0};                   ///< dense Adam
inline constexpr Kernel adam_update_half{"adam_update_half", 26.0};         ///< with a gradient of 16 bits
inline constexpr Kernel update_byte_moments{"update_byte_moments", 16.06};  ///< Adam with moments in 8 bits
inline constexpr Kernel update_byte_moments_half{"update_byte_moments_half", 14.06};  ///< and gradient in 16
inline constexpr Kernel lamb_update{"lamb_update", 40.0};                             ///< dense LAMB
inline constexpr Kernel dense_mean{"dense_mean", 5.0};  ///< the owner's sum, 4 ranks; per element and message
/// Moments; residual += direction. Saved figures know it by the shorter name.
inline constexpr Kernel accumulate_adam_direction{"accumulate_direction", 28.0};
inline constexpr Kernel local_step{"local_step", 36.0};  ///< of a rank alone: 0/1 Adam, local rounds
inline constexpr Kernel onebit_lamb_update{"onebit_lamb_update", 16.25};  ///< fresh variance and ratios
inline constexpr Kernel reply{"reply", 8.13};  ///< the owner encodes the mean; per element of its chunk
inline constexpr Kernel loco_mean{"loco_mean", 1.5};  ///< LoCo's sum of 4 x 4 bits; per element and message
inline constexpr Kernel top_k_percent{"top_k_percent", 4.0};    ///< the largest 1 % of every select block
inline constexpr Kernel top_k_permille{"top_k_permille", 4.0};  ///< the largest 0.1 % of them
inline constexpr Kernel top_k_all_percent{"top_k_all_percent", 8.0};    ///< the largest 1 % of a long block
inline constexpr Kernel top_k_all_permille{"top_k_all_permille", 8.0};  ///< the largest 0.1 % of it
inline constexpr Kernel sparse_sum{"sparse_sum", 100.0};                ///< per entry that came from any rank
inline constexpr Kernel sparse_apply{"sparse_apply", 200.0};  ///< per entry that came back from an owner
/// An element is a multiplication and an addition. Arithmetic bounds it, not memory: 0.1 B, because a GPU
/// does about ten of them in the time of a byte.
inline constexpr Kernel matrix_product{"matrix_product", 0.1};
inline constexpr Kernel multiply_by_right{"multiply_by_right", 8.0};   ///< M Q of a low-rank mean
inline constexpr Kernel multiply_by_left{"multiply_by_left", 8.0};     ///< M^T P of it
inline constexpr Kernel subtract_low_rank{"subtract_low_rank", 16.0};  ///< its mean and new error

/// All kernels that are the same for every code.
inline constexpr std::array plain_kernels = {check,
                                             scale,
                                             copy,
                                             adam_update,
                                             adam_update_half,
                                             update_byte_moments,
                                             update_byte_moments_half,
                                             lamb_update,
                                             dense_mean,
                                             accumulate_adam_direction,
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

/// Encodes, with error feedback, a vector that continues the result of the last exchange, whose message it
/// reads; errors in float32.
/// The kernels from here on have a code in their name; bits: per element of the code.
[[nodiscard]] constexpr Kernel encode(std::string_view code, int bits) {
  return {"encode", 12.0 + 2.0 * bits / 8.0, code};
}
/// The same, errors in bf16; only for a ShortErrorCode.
[[nodiscard]] constexpr Kernel encode_short(std::string_view code, int bits) {
  return {"encode_short", 8.0 + 2.0 * bits / 8.0, code};
}
/// The owner's sum of codes; an element for each element and message.
[[nodiscard]] constexpr Kernel reduce(std::string_view code, int bits) {
  return {"reduce", bits / 8.0, code};
}
/// Decoding with the update of the parameters.
[[nodiscard]] constexpr Kernel decode(std::string_view code, int bits) {
  return {"decode", 12.0 + bits / 8.0, code};
}
/// Encoding with a moving-average error; only for uniform codes (UniformCode).
[[nodiscard]] constexpr Kernel loco_encode(std::string_view code, int bits) {
  return {"loco_encode", 6.05 + bits / 8.0, code};
}

}  // namespace cost
}  // namespace kadam
