// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/state/state_fields.hpp>

#include <cmath>
#include <cstdint>
#include <optional>

namespace kadam {

/// How much larger gradients have become in the mean square since the variance was frozen: what a frozen
/// variance cannot see. Costs nothing, because every step agrees on the norm anyway.
class VarianceDrift {
 public:
  VarianceDrift() = default;
  explicit VarianceDrift(double beta2) : beta2_(beta2) {}

  /// The root mean square of the ranks' gradient norms, once a step.
  void add(double gradient_norm) {
    average_ = beta2_ * average_ + (1.0 - beta2_) * gradient_norm * gradient_norm;
    ++count_;
  }
  /// From here on gradients are compared with those before.
  void freeze() {
    before_ = corrected();
    average_ = 0.0;
    count_ = 0;
  }
  void describe_state(StateFields& fields) {
    fields.number("drift_average", average_);
    fields.number("drift_count", count_);
    fields.number("drift_before", before_);
  }
  /// Mean square since the freeze over that before; nothing before the first step after it.
  [[nodiscard]] std::optional<double> ratio() const {
    if (!before_ || count_ == 0 || *before_ == 0.0) return std::nullopt;
    return corrected() / *before_;
  }

 private:
  [[nodiscard]] double corrected() const {
    return count_ == 0 ? 0.0 : average_ / (1.0 - std::pow(beta2_, static_cast<double>(count_)));
  }

  double beta2_ = 0.0;
  double average_ = 0.0;
  std::int64_t count_ = 0;
  std::optional<double> before_;
};

}  // namespace kadam
