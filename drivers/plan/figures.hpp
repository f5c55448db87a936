// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/options/option_fields.hpp>
#include <plan/prediction.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kadam::plan_program {

/// A speed-up that somebody measured and published.
struct Published {
  std::string algorithm;
  std::string over;       ///< what it is compared with
  int ranks = 0;          //
  bool settled = false;   ///< of the steps after the warm-up, not of the whole run
  double low = 0.0;       ///< the speed-up, or the smallest of a range
  double high = 0.0;      //
  std::string statement;  ///< what the source says, and where it leaves something open
};

/// A figure that nobody gave or measured.
struct Assumption {
  std::string option;  ///< that gives it
  std::string value;   ///< that is taken, as the option would have it
};

/// All that predictions follow from: a file, the command line and what is measured fill it in.
struct Figures {
  std::string title;
  std::string source;   ///< of what was published
  std::string assumed;  ///< what the source leaves open
  std::string machine;  ///< where the kernels' figures come from, in words
  std::optional<plan::KernelCosts> kernels;
  plan::Network network;  ///< a rate of 0: not known
  std::int64_t elements = 0;
  double compute_seconds = 0.0;
  std::int64_t steps = 100000;
  double warmup = 0.15;  ///< share of the run that is a dense warm-up, where one is needed
  plan::Overlap overlap{0.6, 1.0, automatic_piece_bytes(true)};
  plan::Levels levels = plan::Levels::best;
  std::optional<double> memory_bytes;  ///< of a rank, for parameters, gradient and optimizer
  std::vector<int> ranks;
  std::map<std::string, OptionMap> options;  ///< of each optimizer
  std::vector<Published> published;
  /// Options whose figure somebody gave, on the command line or in a file, or that was measured.
  std::set<std::string, std::less<>> known;

  [[nodiscard]] bool has_link() const { return network.link_bytes_per_second > 0.0; }
  /// What ranks of a node reach inside it is missing.
  [[nodiscard]] bool lacks_node_rate() const {
    return network.ranks_per_node > 1 && network.node_bytes_per_second <= 0.0;
  }
  /// Of the figures that predictions need, those that are not known.
  [[nodiscard]] std::vector<Assumption> assumptions() const;
};

/// Reads figures from a JSON file (docs/planning.md) over those that are there. What the file leaves out
/// stays. Errors: launch::UsageError with the file's name, for unknown keys too.
void read_figures(const std::filesystem::path& file, Figures& figures);

/// Writes the machine and the network as such a file. Errors: std::runtime_error.
void write_figures(const std::filesystem::path& file, const Figures& figures);

/// "best", "flat" or "two". Errors: launch::UsageError.
[[nodiscard]] plan::Levels levels_of(const std::string& option, const std::string& text);
[[nodiscard]] const char* name_of(plan::Levels levels);

}  // namespace kadam::plan_program
