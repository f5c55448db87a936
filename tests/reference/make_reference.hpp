// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/optimizers.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kadam::reference {

/// Numbers (a truth is 0 or 1), words, and lists of numbers.
using Options = std::map<std::string, std::variant<double, std::string, std::vector<double>>>;

/// An optimizer over simulated ranks. A copy goes on by itself.
class Simulation {
 public:
  template <class Optimizer>
  explicit Simulation(Optimizer optimizer)
      : optimizer_(std::make_unique<Holder<Optimizer>>(std::move(optimizer))) {}
  Simulation(const Simulation& other) : optimizer_(other.optimizer_->copy()) {}
  Simulation(Simulation&&) = default;
  Simulation& operator=(const Simulation& other) { return *this = Simulation(other); }
  Simulation& operator=(Simulation&&) = default;
  ~Simulation() = default;

  /// working: the parameters of each rank.
  void step(Ranks& working, const Ranks& gradients) { optimizer_->step(working, gradients); }
  /// Delivers what is owed.
  void flush(Ranks& working) { optimizer_->flush(working); }
  /// About which elements only rounding decided in the last step: each once.
  [[nodiscard]] Undecided undecided() const {
    Undecided elements = optimizer_->undecided();
    std::sort(elements.begin(), elements.end());
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    return elements;
  }

 private:
  struct AnyOptimizer {
    AnyOptimizer() = default;
    AnyOptimizer(const AnyOptimizer&) = default;
    AnyOptimizer& operator=(const AnyOptimizer&) = delete;
    virtual ~AnyOptimizer() = default;
    [[nodiscard]] virtual std::unique_ptr<AnyOptimizer> copy() const = 0;
    virtual void step(Ranks& working, const Ranks& gradients) = 0;
    virtual void flush(Ranks& working) = 0;
    [[nodiscard]] virtual Undecided undecided() const = 0;
  };

  template <class Optimizer>
  struct Holder final : AnyOptimizer {
    explicit Holder(Optimizer o) : optimizer(std::move(o)) {}
    [[nodiscard]] std::unique_ptr<AnyOptimizer> copy() const override {
      return std::make_unique<Holder>(optimizer);
    }
    void step(Ranks& working, const Ranks& gradients) override { optimizer.step(working, gradients); }
    void flush(Ranks& working) override {
      if constexpr (requires { optimizer.flush(working); }) optimizer.flush(working);
    }
    [[nodiscard]] Undecided undecided() const override {
      if constexpr (requires { optimizer.undecided(); }) return optimizer.undecided();
      return {};
    }
    Optimizer optimizer;
  };

  std::unique_ptr<AnyOptimizer> optimizer_;
};

/// What a simulation is made for.
struct World {
  int ranks = 1;
  std::int64_t elements = 0;
  std::vector<Tensor> tensors = {};
  int ranks_per_node = 1;  ///< of compressed means; dense ones differ by rounding alone
  std::vector<Group> groups = {};
};

/// Hands out each option once; those that nobody asked for are an error.
class OptionReader {
 public:
  OptionReader(Options options, const World& world) : world_(world), left_(std::move(options)) {}

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

  World world_;
  Options left_;
};

inline Lamb make_lamb(OptionReader& read, const World& world) {
  Lamb lamb(read.hyper(), world.elements);
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
  OnebitLamb onebit(lamb, limits, read.code("sign"), read.count("warmup_steps", 0), world.ranks,
                    world.elements);
  onebit.variance_floor = read.number("variance_floor", 0.0);
  return onebit;
}

inline FrozenVarianceAdam make_frozen_variance_adam(OptionReader& read, const World& world,
                                                    const std::string& code) {
  FrozenVarianceAdam frozen(read.hyper(), read.code(code), read.count("warmup_steps", 0), world.ranks,
                            world.elements);
  frozen.precondition = read.number("precondition", 0.0) != 0.0;
  frozen.variance_floor = read.number("variance_floor", 0.0);
  return frozen;
}

inline FrozenVarianceAdam make_apmsqueeze(OptionReader& read, const World& world) {
  FrozenVarianceAdam apmsqueeze = make_frozen_variance_adam(read, world, "uniform4");
  apmsqueeze.adam.hyper.bias_correction = false;
  return apmsqueeze;
}

inline ZeroOneAdam make_zero_one_adam(OptionReader& read, const World& world) {
  ZeroOnePolicy policy;
  policy.variance_freeze_step = read.count("variance_freeze_step", policy.variance_freeze_step);
  policy.variance_kappa = read.count("variance_kappa", policy.variance_kappa);
  policy.sync_doubling_steps = read.count("sync_doubling_steps", policy.sync_doubling_steps);
  policy.sync_interval_max = read.count("sync_interval_max", policy.sync_interval_max);
  ZeroOneAdam zero_one(read.hyper(), read.code("sign"), policy, world.ranks, world.elements);
  zero_one.variance_floor = read.number("variance_floor", 0.0);
  return zero_one;
}

inline EfficientAdam make_efficient_adam(OptionReader& read, const World& world) {
  return {read.hyper(), read.code("uniform4"), world.ranks, world.elements};
}

inline Loco make_loco(OptionReader& read, const World& world) {
  Loco loco(read.hyper(), read.code("uniform4", 256), read.number("error_beta", 0.8),
            read.count("error_reset", 512), world.ranks, world.elements);
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
  if (name == "adam") return Simulation(Replicated(Adam(read.hyper(), world.elements)));
  if (name == "lamb") return Simulation(Replicated(make_lamb(read, world)));
  if (name == "onebit_adam") return Simulation(Replicated(make_frozen_variance_adam(read, world, "sign")));
  if (name == "apmsqueeze") return Simulation(Replicated(make_apmsqueeze(read, world)));
  if (name == "onebit_lamb") return Simulation(Replicated(make_onebit_lamb(read, world)));
  if (name == "zero_one_adam") return Simulation(make_zero_one_adam(read, world));
  if (name == "efficient_adam") return Simulation(Replicated(make_efficient_adam(read, world)));
  if (name == "loco") return Simulation(Replicated(make_loco(read, world)));
  if (name == "locally_accumulated_adam") {
    return Simulation(make_locally_accumulated_adam(read, world));
  }
  if (name == "divisible_adam") return Simulation(make_divisible_adam(read, world));
  throw std::invalid_argument("no reference is called " + name);
}

/// The reference of an algorithm, with its options by the names that configurations have.
inline Simulation make_reference(const std::string& name, const Options& options, const World& world) {
  OptionReader read(options, world);
  Simulation simulation = simulate_by_name(name, read, world);
  read.require_all_read();
  return simulation;
}

}  // namespace kadam::reference
