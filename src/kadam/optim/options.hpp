// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/progress.hpp>
#include <kadam/collectives/sparse_exchange.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/kernels/quantiser.hpp>
#include <kadam/optim/option_value.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kadam {

/// A number of steps, or "auto".
struct StepsOrAuto {
  std::int64_t steps = 0;
  bool automatic = false;
};

/// One named option of an Options struct: how to set it, how to show it.
struct OptionField {
  std::string name;
  std::string help;
  std::function<void(const OptionValue&)> set;
  std::function<OptionValue()> get;
};

/// Collects the fields of an Options struct; the struct describes itself once, and reading, showing, hashing
/// and documentation all follow from that.
class OptionFields {
 public:
  void add(const std::string& name, double& value, std::string help);
  void add(const std::string& name, std::int64_t& value, std::string help);
  void add(const std::string& name, bool& value, std::string help);
  void add(const std::string& name, std::string& value, std::string help);
  void add(const std::string& name, SignScale& value, std::string help);
  void add(const std::string& name, SparseExchange& value, std::string help);
  void add(const std::string& name, Progress& value, std::string help);
  void add(const std::string& name, NumberFormat& value, std::string help);
  void add(const std::string& name, StepsOrAuto& value, std::string help);
  /// A number, or a list of numbers (one number is a list of one).
  void add(const std::string& name, std::vector<double>& value, std::string help);
  void add(const std::string& name, std::vector<std::int64_t>& value, std::string help);

  [[nodiscard]] const std::vector<OptionField>& fields() const { return fields_; }

  /// Sets each option of `values`. Errors: std::invalid_argument for an unknown name (lists what exists) or a
  /// value of the wrong type (says which is expected).
  void read(std::string_view owner, const OptionMap& values) const;
  /// All options with their present values.
  [[nodiscard]] OptionMap show() const;

 private:
  std::vector<OptionField> fields_;
};

/// An Options struct with these values set, not validated yet. Errors: as OptionFields::read().
template <class Options>
[[nodiscard]] Options read_options(std::string_view owner, const OptionMap& values) {
  Options options;
  OptionFields fields;
  options.describe(fields);
  fields.read(owner, values);
  return options;
}

/// All options of an Options struct with their present values.
template <class Options>
[[nodiscard]] OptionMap show_options(Options options) {
  OptionFields fields;
  options.describe(fields);
  return fields.show();
}

/// FNV-1a hash of names and values: equal configurations have equal hashes on all ranks.
[[nodiscard]] std::uint64_t hash_of(const OptionMap& values);
[[nodiscard]] std::uint64_t hash_of(std::string_view text);

/// Throws std::invalid_argument "<owner>: <sentence>" unless the condition holds.
void require_option(bool condition, std::string_view owner, const std::string& sentence);

}  // namespace kadam
