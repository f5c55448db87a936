// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/options/common_options.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kadam {

/// What a program has set since an optimizer was made, in place of its options. Empty: as it was made.
struct Settings {
  /// What was set of a parameter group.
  struct OfGroup {
    std::optional<double> lr_scale;
    std::optional<double> weight_decay;  ///< below 0: the optimizer's

    friend bool operator==(const OfGroup&, const OfGroup&) = default;
  };

  std::optional<double> lr;  ///< gamma of every step, in place of a schedule
  std::optional<double> weight_decay;
  std::optional<double> clip_norm;
  std::vector<OfGroup> of_groups;  ///< in the order of the groups; empty: all as they were made
  /// Within the first step: a hash of the parameters, which ranks have to have the same as well.
  std::uint64_t start = 0;

  /// Errors: std::invalid_argument for an option that cannot be set, or a value that is no number, below 0,
  /// infinite or NaN.
  void set(std::string_view owner, const OptionMap& values);
  /// Of the group with this pattern of tensors; no decay: the optimizer's. Errors: std::invalid_argument if
  /// there is none, or as set().
  void set_group(std::string_view owner, const std::vector<ParameterGroup>& made, std::string_view tensors,
                 double lr_scale, const std::optional<double>& decay);
  /// The options that hold with them.
  [[nodiscard]] CommonOptions applied_to(CommonOptions made) const;

  /// 20 bits that differ where settings do, but for one case in half a million; 0 where nothing is set.
  [[nodiscard]] std::uint32_t fingerprint() const;
  /// The same of several steps, these settings being those of the last: 32 bits; 0 where none has set
  /// anything. earlier: of the steps before; 0 of none.
  [[nodiscard]] std::uint32_t fingerprint_after(std::uint32_t earlier) const;
  /// Throws std::invalid_argument on all ranks, naming what differs, its values and ranks, if something does.
  /// Collective.
  void require_equal(Communicator& communicator, std::string_view owner,
                     const std::vector<ParameterGroup>& groups) const;
  /// Numbers whose names begin so, those of groups with the group's pattern. A state without them leaves them
  /// as they are.
  void describe_state(StateFields& fields, const std::string& prefix,
                      const std::vector<ParameterGroup>& groups);

  friend bool operator==(const Settings&, const Settings&) = default;

 private:
  [[nodiscard]] std::vector<std::pair<std::string, double>> named(
      const std::vector<ParameterGroup>& groups) const;
};

}  // namespace kadam
