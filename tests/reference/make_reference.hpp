// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <reference/optimizers.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kadam::reference {

/// Numbers (a truth is 0 or 1), words, and lists of numbers.
using Options = std::map<std::string, std::variant<double, std::string, std::vector<double>>>;

/// An optimizer over simulated ranks.
struct Simulation {
  std::function<void(Ranks& working, const Ranks& gradients)> step;
  std::function<void(Ranks& working)> flush = [](Ranks&) {};  ///< delivers what is owed
};

/// What a simulation is made for.
struct World {
  int ranks = 1;
  std::int64_t elements = 0;
  Ranges tensors = {};
  int ranks_per_node = 1;  ///< of compressed means; dense ones differ by rounding alone
};

/// Hands out each option once; those that nobody asked for are an error.
class OptionReader {
 public:
  OptionReader(Options options, int nodes_ranks) : ranks_per_node(nodes_ranks), left_(std::move(options)) {}

  int ranks_per_node;

  double number(const std::string& name, double otherwise) { return take(name, otherwise); }
  std::int64_t count(const std::string& name, std::int64_t otherwise) {
    return static_cast<std::int64_t>(take(name, static_cast<double>(otherwise)));
  }
  std::string word(const std::string& name, const std::string& otherwise) { return take(name, otherwise); }
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
    h.gradients = Format::named(word("gradients", "float32"));
    return h;
  }
  Code code(int bits, std::int64_t block = 2048) {
    Code c;
    c.bits = static_cast<int>(count("bits", bits));
    c.mean_abs = is("scale", "mean_abs");
    c.block = count("block", block);
    c.ranks_per_node = ranks_per_node;
    return c;
  }
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

  Options left_;
};

template <class Optimizer>
Simulation simulate(Optimizer optimizer) {
  return {.step = [optimizer](Ranks& working, const Ranks& gradients) mutable {
    optimizer.step(working, gradients);
  }};
}

/// Of an optimizer that owes something between steps which is not in the parameters.
template <class Optimizer>
Simulation simulate_with_flush(Optimizer start) {
  const auto optimizer = std::make_shared<Optimizer>(std::move(start));
  return {
      .step = [optimizer](Ranks& working, const Ranks& gradients) { optimizer->step(working, gradients); },
      .flush = [optimizer](Ranks& working) { optimizer->flush(working); }};
}

inline Lamb make_lamb(OptionReader& read, const World& world) {
  Lamb lamb(read.hyper(), world.tensors, world.elements);
  lamb.trust_min = read.number("trust_min", lamb.trust_min);
  lamb.trust_max = read.number("trust_max", lamb.trust_max);
  return lamb;
}

inline OnebitLamb make_onebit_lamb(OptionReader& read, const World& world) {
  const Lamb lamb = make_lamb(read, world);
  const RatioLimits limits = {.min = read.number("ratio_min", 0.5),
                              .max = read.number("ratio_max", 4.0),
                              .change = read.number("ratio_change", 0.1),
                              .beta3 = read.number("beta3", 0.9)};
  OnebitLamb onebit(lamb, limits, read.code(1), read.count("warmup_steps", 0), world.ranks, world.elements);
  onebit.variance_floor = read.number("variance_floor", 0.0);
  return onebit;
}

inline FrozenVarianceAdam make_frozen_variance_adam(OptionReader& read, const World& world, int bits) {
  FrozenVarianceAdam frozen(read.hyper(), read.code(bits), read.count("warmup_steps", 0), world.ranks,
                            world.elements);
  frozen.precondition = read.number("precondition", 0.0) != 0.0;
  frozen.variance_floor = read.number("variance_floor", 0.0);
  return frozen;
}

inline FrozenVarianceAdam make_apmsqueeze(OptionReader& read, const World& world) {
  FrozenVarianceAdam apmsqueeze = make_frozen_variance_adam(read, world, 4);
  apmsqueeze.adam.hyper.bias_correction = false;
  return apmsqueeze;
}

inline ZeroOneAdam make_zero_one_adam(OptionReader& read, const World& world) {
  ZeroOnePolicy policy;
  policy.variance_freeze_step = read.count("variance_freeze_step", policy.variance_freeze_step);
  policy.variance_kappa = read.count("variance_kappa", policy.variance_kappa);
  policy.sync_doubling_steps = read.count("sync_doubling_steps", policy.sync_doubling_steps);
  policy.sync_interval_max = read.count("sync_interval_max", policy.sync_interval_max);
  ZeroOneAdam zero_one(read.hyper(), read.code(1), policy, world.ranks, world.elements);
  zero_one.variance_floor = read.number("variance_floor", 0.0);
  return zero_one;
}

inline EfficientAdam make_efficient_adam(OptionReader& read, const World& world) {
  return {read.hyper(), read.code(4), world.ranks, world.elements};
}

inline Loco make_loco(OptionReader& read, const World& world) {
  Loco loco(read.hyper(), read.code(4, 256), read.number("error_beta", 0.8), read.count("error_reset", 512),
            world.ranks, world.elements);
  loco.rounds = read.is("parameters", "bf16");
  return loco;
}

inline LocalMoments make_local_moments(OptionReader& read, const World& world) {
  (void)read.word("progress", "none");  // changes no result
  return {read.hyper(),
          read.count("warmup_steps", 0),
          read.count("variance_sync_interval", 50),
          read.count("variance_delay", 0),
          world.ranks,
          world.elements};
}

inline SparseMean make_sparse_mean(OptionReader& read, double density) {
  return {.density = read.number("density", density),
          .select_block = read.count("select_block", 4096),
          .by_owner = read.is("exchange", "owner")};
}

inline LocallyAccumulatedAdam make_locally_accumulated_adam(OptionReader& read, const World& world) {
  return {make_local_moments(read, world), make_sparse_mean(read, 0.01), read.number("residual_decay", 1.0),
          read.number("step_ahead", 0.0)};
}

inline DivisibleAdam make_divisible_adam(OptionReader& read, const World& world) {
  return {make_local_moments(read, world), make_sparse_mean(read, 1.0 / 1024.0),
          read.count("background_steps", 4), read.number("step_ahead", 1.0)};
}

inline Simulation simulate_by_name(const std::string& name, OptionReader& read, const World& world) {
  if (name == "adam") return simulate(Replicated(Adam(read.hyper(), world.elements)));
  if (name == "lamb") return simulate(Replicated(make_lamb(read, world)));
  if (name == "onebit_adam") return simulate(Replicated(make_frozen_variance_adam(read, world, 1)));
  if (name == "apmsqueeze") return simulate(Replicated(make_apmsqueeze(read, world)));
  if (name == "onebit_lamb") return simulate(Replicated(make_onebit_lamb(read, world)));
  if (name == "zero_one_adam") return simulate_with_flush(make_zero_one_adam(read, world));
  if (name == "efficient_adam") return simulate(Replicated(make_efficient_adam(read, world)));
  if (name == "loco") return simulate(Replicated(make_loco(read, world)));
  if (name == "locally_accumulated_adam") {
    return simulate_with_flush(make_locally_accumulated_adam(read, world));
  }
  if (name == "divisible_adam") return simulate_with_flush(make_divisible_adam(read, world));
  throw std::invalid_argument("no reference is called " + name);
}

/// The reference of an algorithm, with its options by the names that configurations have.
inline Simulation make_reference(const std::string& name, const Options& options, const World& world) {
  OptionReader read(options, world.ranks_per_node);
  Simulation simulation = simulate_by_name(name, read, world);
  read.require_all_read();
  return simulation;
}

}  // namespace kadam::reference
