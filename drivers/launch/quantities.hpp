// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// Reads quantities as people write them, and writes them. `option` is for the message. Errors: UsageError
/// "OPTION TEXT: expected ...".
namespace kadam::launch {

/// "250ms", "50us", "1.5s", "0.25": seconds; 0 or more.
[[nodiscard]] double seconds_of(const std::string& option, const std::string& text);
/// "90s", "15min", "3h30min", "2:15:00", "600": seconds; more than 0. Worked number: 1h30min is 5400.
[[nodiscard]] double duration_of(const std::string& option, const std::string& text);
/// "1gbit", "100mbit/s", "12.5MB", "10GB/s": bytes per second; more than 0; in any case of letters.
/// Worked number: 1gbit is 125e6.
[[nodiscard]] double rate_of(const std::string& option, const std::string& text);
/// "40GB", "24GiB": bytes of memory; more than 0.
[[nodiscard]] double bytes_of(const std::string& option, const std::string& text);
/// "110M", "1.3B" and "1.3G", "340000000": a whole number; 1 or more.
[[nodiscard]] std::int64_t count_of(const std::string& option, const std::string& text);
/// "2,4,64": whole numbers, sorted.
[[nodiscard]] std::vector<int> counts_of(const std::string& option, const std::string& text);

/// "1,234,567"
[[nodiscard]] std::string grouped(std::int64_t number);
/// "1.2 s", "34.5 ms", "67 us".
[[nodiscard]] std::string seconds_text(double seconds);
/// "4.1 Gbit/s".
[[nodiscard]] std::string rate_text(double bytes_per_second);
/// "512 B", "6.0 kB", "1.36 GB": decimal units, as networks are sold.
[[nodiscard]] std::string bytes_text(double bytes);

/// "64.0 kB in a warm-up step, 2.1 kB in a compressed step": the bytes that a rank sends in each phase, in
/// the order of the plan.
[[nodiscard]] std::string traffic_text(const std::vector<PlannedTraffic>& plan);

}  // namespace kadam::launch
