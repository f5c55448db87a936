// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/formulas.hpp>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kadam::reference {

/// Options by name: numbers (false is 0, true is 1), words, and lists of numbers.
using Options = std::map<std::string, std::variant<double, std::string, std::vector<double>>>;

/// Ranks, vector and parameter groups of a simulation.
struct World {
  int ranks = 1;
  std::int64_t elements = 0;
  std::vector<Tensor> tensors = {};
  int ranks_per_node = 1;  ///< for compressed means; dense ones in two levels differ only by rounding
  std::vector<Group> groups = {};
};

/// Reads options. Each can be read once; require_all_read() throws if one was not.
class OptionReader {
 public:
  OptionReader(Options options, const World& world) : world_(world), left_(std::move(options)) {}

  /// The value of an option, or `otherwise` if it is not given.
  double number(const std::string& name, double otherwise) { return take(name, otherwise); }
  std::int64_t count(const std::string& name, std::int64_t otherwise) {
    return static_cast<std::int64_t>(take(name, static_cast<double>(otherwise)));
  }
  std::string word(const std::string& name, const std::string& otherwise) { return take(name, otherwise); }
  /// Whether an option is this word.
  bool is(const std::string& name, const std::string& word) { return take(name, std::string()) == word; }

  Hyper hyper() {
    Hyper h;
    if (left_.contains("lr") && std::holds_alternative<std::vector<double>>(left_.at("lr"))) {
      h.schedule = take("lr", h.schedule);
    }
    h.lr = number("lr", h.lr);
    h.beta1 = number("beta1", h.beta1);
    h.beta2 = number("beta2", h.beta2);
    h.eps = number("eps", h.eps);
    h.weight_decay = number("weight_decay", h.weight_decay);
    h.bias_correction = number("bias_correction", 1.0) != 0.0;
    h.clip_norm = number("clip_norm", h.clip_norm);
    h.tensors = world_.tensors;
    apply_groups(world_.groups, count("dense_below", 0), h.tensors);
    h.gradients = Format::named(word("gradients", "float32"));
    return h;
  }
  Code code(const std::string& name, std::int64_t block = 2048) {
    static const std::map<std::int64_t, std::string> of_bits = {
        {0, ""}, {1, "sign"}, {2, "uniform2"}, {4, "uniform4"}, {8, "uniform8"}};
    Code c;
    const std::string by_bits = of_bits.at(count("bits", 0));
    c.name = word("code", by_bits.empty() ? name : by_bits);
    c.mean_abs = is("scale", "mean_abs");
    c.block = count("block", block);
    c.ranks_per_node = world_.ranks_per_node;
    c.short_errors = is("errors", "bf16");
    return c;
  }
  /// Errors: std::invalid_argument that names an option that was not read.
  void require_all_read() const {
    if (!left_.empty()) throw std::invalid_argument("no reference honours " + left_.begin()->first);
  }

 private:
  template <class T>
  T take(const std::string& name, T otherwise) {
    const auto found = left_.find(name);
    if (found == left_.end()) return otherwise;
    T value = std::get<T>(found->second);
    left_.erase(found);
    return value;
  }

  World world_;
  Options left_;
};

}  // namespace kadam::reference
