// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/make_optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The runs whose checkpoints lie beside this file: two ranks train with each optimizer of version 0.1, save
/// after 30 steps and after 60. The header compiles with version 0.1 and with this one: write.cpp includes it
/// for the one, earlier_version_test.cpp for the other.
namespace kadam::version_0_1 {

inline constexpr std::int64_t first_step = 30;
inline constexpr std::int64_t last_step = 60;
inline constexpr std::int64_t d = 300;

inline TensorLayout layout() {
  return TensorLayout({{"first.weight", 0, 160}, {"first.bias", 160, 170}, {"second.weight", 170, d}});
}

inline std::vector<ParameterGroup> groups() {
  return {{"first.bias", 0.5, 0.0, true}};
}

struct Run {
  std::string optimizer;
  OptionMap options;
};

/// Runs with options that are left at their defaults where they mean the same in both versions. The warm-ups
/// of some end before the first checkpoint, those of others between the two.
inline std::vector<Run> runs() {
  const auto steps = [](std::int64_t count) { return OptionValue(count); };
  const auto word = [](const char* text) { return OptionValue(std::string(text)); };
  const OptionValue lr = 0.01;
  const OptionValue no_floor = 0.0;  // the default of version 0.1
  return {
      {"adam", {{"lr", lr}, {"weight_decay", OptionValue(0.05)}}},
      {"lamb", {{"lr", lr}, {"weight_decay", OptionValue(0.01)}}},
      {"onebit_adam",
       {{"lr", lr}, {"variance_floor", no_floor}, {"warmup_steps", steps(12)}, {"block", steps(64)}}},
      {"apmsqueeze",
       {{"lr", lr},
        {"variance_floor", no_floor},
        {"warmup_steps", steps(40)},
        {"bits", steps(4)},
        {"block", steps(64)}}},
      {"zero_one_adam",
       {{"lr", lr},
        {"variance_floor", no_floor},
        {"variance_freeze_step", steps(20)},
        {"variance_kappa", steps(4)},
        {"sync_doubling_steps", steps(12)},
        {"block", steps(64)}}},
      {"onebit_lamb",
       {{"lr", lr}, {"variance_floor", no_floor}, {"warmup_steps", steps(12)}, {"block", steps(64)}}},
      {"efficient_adam", {{"lr", lr}, {"bits", steps(4)}, {"block", steps(64)}}},
      {"loco", {{"lr", lr}, {"bits", steps(4)}, {"block", steps(64)}, {"parameters", word("float32")}}},
      {"locally_accumulated_adam",
       {{"lr", lr},
        {"warmup_steps", steps(12)},
        {"density", OptionValue(0.1)},
        {"select_block", steps(64)},
        {"variance_sync_interval", steps(8)}}},
      {"divisible_adam",
       {{"lr", lr},
        {"warmup_steps", steps(12)},
        {"density", OptionValue(0.05)},
        {"select_block", steps(64)},
        {"background_steps", steps(4)},
        {"variance_sync_interval", steps(8)}}},
  };
}

inline float start(std::int64_t i) {
  return static_cast<float>(i % 17) / 16.0F - 0.5F;
}

/// The gradient of a rank's own quadratic, with noise that is the same on every machine: whole numbers are
/// mixed, and the products are exact in float32 but for their last rounding.
inline float gradient(std::int64_t i, std::int64_t t, int rank, float x) {
  auto mixed = static_cast<std::uint32_t>(i * 7919 + t * 104729 + rank * 15485863 + 12345);
  mixed ^= mixed >> 15U;
  mixed *= 0x2c1b3c6dU;
  mixed ^= mixed >> 12U;
  mixed *= 0x297a2d39U;
  mixed ^= mixed >> 15U;
  const float noise = static_cast<float>(mixed >> 16U) / 65536.0F - 0.5F;
  const float target = static_cast<float>((i * 5) % 13) / 8.0F;
  return 0.5F * (x - target) + noise;
}

}  // namespace kadam::version_0_1
