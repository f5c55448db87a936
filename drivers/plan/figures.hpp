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
  std::string over;       ///< name of the contestant that it is compared with
  int ranks = 0;          //
  bool settled = false;   ///< speed-up of the steps after the warm-up, not of the whole run
  double low = 0.0;       ///< the speed-up, or the smallest of a range
  double high = 0.0;      ///< the same speed-up, or the largest of the range
  std::string statement;  ///< statement of the source, and what it leaves open
};

/// A figure that a prediction needs and that was neither given nor measured.
struct Assumption {
  std::string option;  ///< command-line option that would give it
  std::string value;   ///< value assumed, as text for this option
};

/// All inputs of predictions. A file, the command line and measurements fill them in.
struct Figures {
  std::string title;
  std::string source;   ///< source of the published speed-ups
  std::string assumed;  ///< assumptions where the source leaves something open, in words
  std::string machine;  ///< origin of the kernels' figures, in words
  std::optional<plan::KernelCosts> kernels;
  plan::Network network;  ///< a rate of 0: not known
  std::int64_t elements = 0;
  double compute_seconds = 0.0;
  std::int64_t steps = 100000;
  double warmup = 0.15;  ///< share of the run that is a dense warm-up, where one is needed
  plan::Overlap overlap{0.6, 1.0, automatic_piece_bytes(true)};
  plan::Levels levels = plan::Levels::best;
  std::optional<double> memory_bytes;        ///< of a rank, for parameters, gradient and optimizer
  std::vector<int> ranks;                    ///< numbers of ranks to predict
  std::map<std::string, OptionMap> options;  ///< of each optimizer
  std::vector<Published> published;
  /// Command-line options whose figure was measured, or given in a file or on the command line.
  std::set<std::string, std::less<>> known;

  [[nodiscard]] bool has_link() const { return network.link_bytes_per_second > 0.0; }
  /// Whether the rate inside a node is missing although nodes have several ranks.
  [[nodiscard]] bool lacks_node_rate() const {
    return network.ranks_per_node > 1 && network.node_bytes_per_second <= 0.0;
  }
  /// Figures that predictions need and `known` lacks, with the values assumed for them.
  [[nodiscard]] std::vector<Assumption> assumptions() const;
};

/// Reads a JSON file (docs/planning.md) into `figures`; figures that the file leaves out stay. Errors:
/// launch::UsageError with the file's name, for unknown keys too.
void read_figures(const std::filesystem::path& file, Figures& figures);

/// Writes the machine and the network into a file that read_figures() reads. Errors: std::runtime_error.
void write_figures(const std::filesystem::path& file, const Figures& figures);

/// The levels that a text names: "best", "flat" or "two". option: for the message. Errors:
/// launch::UsageError.
[[nodiscard]] plan::Levels levels_of(const std::string& option, const std::string& text);
[[nodiscard]] const char* name_of(plan::Levels levels);

}  // namespace kadam::plan_program
