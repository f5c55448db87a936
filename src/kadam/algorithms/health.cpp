// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/health.hpp>

#include <cmath>
#include <cstdio>

namespace kadam {
namespace {

std::string number(double value) {
  std::array<char, 32> buffer{};
  (void)std::snprintf(buffer.data(), buffer.size(), "%.3g", value);
  return buffer.data();
}

void add_error_ratio(double ratio, std::vector<Warning>& list) {
  if (std::isfinite(ratio) && ratio <= largest_error_ratio) return;
  list.push_back({"error_ratio", "the errors of compression are " + number(ratio) +
                                     " times as large as the result of the last exchange: lower the learning "
                                     "rate, or send more (more bits, a higher density, a smaller block)"});
}

void add_variance_drift(double drift, std::vector<Warning>& list) {
  if (drift >= smallest_variance_drift && drift <= largest_variance_drift) return;
  list.push_back({"variance_drift", "the mean square of the gradients is now " + number(drift) +
                                        " times its value when the variance was frozen: steps are too " +
                                        (drift > 1.0 ? "long" : "short") +
                                        "; make the warm-up longer, so that the variance settles first"});
}

void add_variance_spread(double spread, std::vector<Warning>& list) {
  if (spread <= largest_variance_spread) return;
  list.push_back(
      {"variance_spread", "the variance of one rank is " + number(spread) +
                              " times that of another: their data differ; shuffle the data over the ranks, "
                              "or set a smaller variance_sync_interval if the optimizer has one"});
}

void add_largest_step(const LargestStep& step, std::vector<Warning>& list) {
  if (step.over_learning_rate <= largest_largest_step) return;  // else larger, or no number
  list.push_back({"largest_step", "the largest step is " + number(step.over_learning_rate) +
                                      " times the learning rate, in tensor '" + step.tensor_name +
                                      "', where the variance is only noise compared with the rest of its "
                                      "scale block: set variance_floor = 0.1, or keep the tensor dense"});
}

}  // namespace

std::array<NamedFigure, 6> named_figures(const Health& health) {
  return {{{"error_ratio", health.error_ratio},
           {"variance_drift", health.variance_drift},
           {"variance_spread", health.variance_spread},
           {"support_overlap", health.support_overlap},
           {"background_hidden", health.background_hidden},
           {"largest_step",
            health.largest_step ? std::optional(health.largest_step->over_learning_rate) : std::nullopt}}};
}

std::vector<Warning> warnings(const Health& health) {
  std::vector<Warning> list;
  if (health.error_ratio) add_error_ratio(*health.error_ratio, list);
  if (health.variance_drift) add_variance_drift(*health.variance_drift, list);
  if (health.variance_spread) add_variance_spread(*health.variance_spread, list);
  if (health.largest_step) add_largest_step(*health.largest_step, list);
  if (health.inactive_fraction > largest_inactive_fraction) {
    list.push_back(
        {"inactive_fraction",
         number(100.0 * health.inactive_fraction) +
             " % of the coordinates had no gradient before the variance was frozen and are not trained: "
             "make the warm-up longer"});
  }
  return list;
}

}  // namespace kadam
