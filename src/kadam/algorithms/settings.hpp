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

/// Values that a program has set since it made an optimizer, in place of those in the options. Empty: as the
/// optimizer was made.
struct Settings {
  /// The values that were set for one parameter group.
  struct OfGroup {
    std::optional<double> lr_scale;
    std::optional<double> weight_decay;  ///< below 0: the optimizer's

    friend bool operator==(const OfGroup&, const OfGroup&) = default;
  };

  std::optional<double> lr;  ///< gamma of every step, in place of a schedule
  std::optional<double> weight_decay;
  std::optional<double> clip_norm;
  std::vector<OfGroup> of_groups;  ///< in the order of the groups; empty: all as they were made
  /// Only in the first step: a hash of the parameters, which have to be equal on all ranks as well.
  std::uint64_t start = 0;

  /// Sets the options in `values`: lr, weight_decay or clip_norm. owner: begins the texts of errors. Errors:
  /// std::invalid_argument for an option that cannot be set, or a value that is no number, below 0, infinite
  /// or NaN; some values may then be set.
  void set(std::string_view owner, const OptionMap& values);
  /// Sets lr_scale and the weight decay of the group in `made` whose pattern is `tensors`; without `decay`
  /// the group has the weight decay of the optimizer. Errors: std::invalid_argument if there is no such
  /// group, or as set().
  void set_group(std::string_view owner, const std::vector<ParameterGroup>& made, std::string_view tensors,
                 double lr_scale, const std::optional<double>& decay);
  /// The options `made`, with these values in place of theirs.
  [[nodiscard]] CommonOptions applied_to(CommonOptions made) const;

  /// A hash of 20 bits, which differs where settings do, but for one case in half a million; 0 where nothing
  /// is set.
  [[nodiscard]] std::uint32_t fingerprint() const;
  /// A hash of 32 bits of the settings of several steps, of which these are the last; 0 where nothing was set
  /// in any of them. earlier: this hash of the steps before; 0 if there are none.
  [[nodiscard]] std::uint32_t fingerprint_after(std::uint32_t earlier) const;
  /// Throws std::invalid_argument on all ranks if settings differ between ranks; the text names the setting,
  /// its values and the ranks. groups: those that the optimizer was made with. Collective.
  void require_equal(Communicator& communicator, std::string_view owner,
                     const std::vector<ParameterGroup>& groups) const;
  /// Describes the settings as numbers whose names begin with `prefix`; those of groups end with the group's
  /// pattern. A state without them leaves them as they are.
  void describe_state(StateFields& fields, const std::string& prefix,
                      const std::vector<ParameterGroup>& groups);

  friend bool operator==(const Settings&, const Settings&) = default;

 private:
  /// All settings with their names; NaN: not set.
  [[nodiscard]] std::vector<std::pair<std::string, double>> named(
      const std::vector<ParameterGroup>& groups) const;
};

}  // namespace kadam
