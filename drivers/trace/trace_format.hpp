// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// What a trace's file says in words and numbers, for those who write it and those who read it:
// docs/timeline.md.
namespace kadam::trace {

/// What works beside each other on a rank: its threads in the file, by these numbers.
enum class Track : std::uint8_t { compute, codec, network, background };
inline constexpr std::size_t track_count = 4;

// Names of events.
inline constexpr const char* step_region = "kadam-train::step";
inline constexpr const char* gradient_region = "kadam-train::gradient";
inline constexpr const char* message_leaves = "send";
inline constexpr const char* message_arrives = "receive";

/// The label of a rank whose times may be wrong by so many seconds: "clock +- 12 us".
[[nodiscard]] std::string clock_label(double error_seconds);
/// What clock_label() was made of; 0 for any other text.
[[nodiscard]] double clock_error_in(const std::string& label);

}  // namespace kadam::trace
