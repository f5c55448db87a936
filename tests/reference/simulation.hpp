// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/option_reader.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace kadam::reference {

/// An optimizer over simulated ranks. A copy has its own state and goes on from here.
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

  /// Takes a step. working: the parameters of each rank. gradients: those of each rank.
  void step(Ranks& working, const Ranks& gradients) { optimizer_->step(working, gradients); }
  /// Delivers all that the optimizer owes (errors, residuals).
  void flush(Ranks& working) { optimizer_->flush(working); }
  /// Elements about which only rounding decided in the last step, sorted, each once.
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

/// Makes a simulation of an optimizer. Its step() takes the parameters of each rank, or one vector that all
/// ranks have in common: see Replicated.
template <class Optimizer>
Simulation simulation_of(Optimizer optimizer) {
  if constexpr (requires(Ranks & working, const Ranks& g) { optimizer.step(working, g); }) {
    return Simulation(std::move(optimizer));
  } else {
    return Simulation(Replicated(std::move(optimizer)));
  }
}

/// A row of the table of references: the name of an algorithm, and a function that reads its options and
/// makes it.
struct Reference {
  const char* name;
  Simulation (*make)(OptionReader& read, const World& world);
};

}  // namespace kadam::reference
