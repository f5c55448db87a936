// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An algorithm that Kadam does not have, added by the program that uses it: Lion (Chen et al. 2023), over
// ranks.
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/optim/register_optimizer.hpp>

#include <cstdio>
#include <string_view>

/// What Lion does to an element.
struct Rule {
  float gamma;
  float decay;
  float scale;
  float beta1;
  float beta2;

  template <kadam::Number T>
  KOKKOS_FUNCTION void operator()(float& x, float& m, const T& gradient) const {
    const float g = scale * kadam::to_float(gradient);
    const float u = beta1 * m + (1.0F - beta1) * g;
    const float sign = static_cast<float>(u > 0.0F) - static_cast<float>(u < 0.0F);
    x = decay * x - gamma * sign;
    m = beta2 * m + (1.0F - beta2) * g;
  }
};

/// The rule of a parameter group: one launch does for all of them.
struct RuleOf {
  double gamma;
  float scale;
  float beta1;
  float beta2;

  KOKKOS_FUNCTION Rule operator()(std::int64_t /*segment*/, const kadam::SegmentFactors& group) const {
    const double rate = gamma * group.lr_scale;
    return {static_cast<float>(rate), static_cast<float>(1.0 - rate * group.weight_decay), scale, beta1,
            beta2};
  }
};

/// Lion on the mean gradient: steps of one size, by the sign of a momentum.
///
///   g = mean of the ranks' gradients;  u = sign(beta1 m + (1 - beta1) g)
///   x <- (1 - gamma lambda) x - gamma u;  m <- beta2 m + (1 - beta2) g
///
/// Clipping: by the norm of the mean gradient. Memory: 4 d state bytes. Wire: that of dense Adam.
class Lion final : public kadam::Algorithm {
 public:
  struct Options {
    kadam::CommonOptions common;

    Options() { common.beta2 = 0.99; }
    /// Those that Lion honours: others are refused by name.
    void describe(kadam::OptionFields& fields) {
      using kadam::Range;
      common.learning_rate.describe(fields);
      fields.add("beta1", common.beta1, Range::at_least(0.0).below(1.0),
                 "share of m in the direction of a step");
      fields.add("beta2", common.beta2, Range::at_least(0.0).below(1.0), "decay of m");
      fields.add("weight_decay", common.weight_decay, Range::at_least(0.0), "decoupled weight decay");
      fields.add("clip_norm", common.clip_norm, Range::at_least(0.0),
                 "clip gradients to this norm (0: never)");
    }
    void validate(std::string_view /*owner*/) const {}
  };

  /// What it sends, computes and holds: plans, byte counts and memory() follow from it.
  [[nodiscard]] static kadam::AlgorithmCost cost(const Options& options, const kadam::Problem& problem) {
    constexpr kadam::Kernel update{"lion", 20.0};  // reads x, m, g; writes x, m
    kadam::AlgorithmCost cost;
    cost.phases = {kadam::dense_phase("dense", options.common, problem, update)};
    cost.memory = kadam::DenseMeanLayout(problem.ranks, problem.elements()).cost().memory;
    cost.memory.state_bytes += problem.vectors(1);
    return cost;
  }

  Lion(const Options& /*options*/, kadam::Workplace& at) : Algorithm(at) {
    const kadam::ExecutionSpace exec;
    m_ = kadam::allocate_zeros<float>(exec, "Lion::m", elements());
    mean_ = kadam::DenseMean(exec, communicator(), elements(), common().gradients);
    exec.fence("Lion");
  }

  void advance(kadam::Step& step) override {
    const kadam::Gradient g = step.mean_gradient(mean_);
    step.result.gradient_scale = clip_factor_of(step.exec, g);
    const float scale = step.gradient_scale();
    const auto beta1 = static_cast<float>(common().beta1);
    const auto beta2 = static_cast<float>(common().beta2);
    g.visit([&](const auto& gradient) {
      kadam::for_each_element("Lion::advance", step.exec, elements(),
                              step.by_segment(RuleOf{step.gamma(), scale, beta1, beta2}),
                              kadam::updates(step.x()), kadam::updates(m_), kadam::reads(gradient));
    });
  }

  [[nodiscard]] kadam::DenseMean* next_gradient_mean() override { return &mean_; }
  void describe_state(const kadam::ExecutionSpace& /*exec*/, kadam::StateFields& fields) override {
    fields.equal("m", m_);
  }

 private:
  kadam::Vector<float> m_;
  kadam::DenseMean mean_;
};

/// Every rank pulls x towards its own target; they meet at the mean. What it takes is nothing special any
/// more.
float minimise(MPI_Comm communicator, float target) {
  const int d = 1000;
  const auto optimizer = kadam::make_optimizer(
      "lion", {{"lr", 0.01}, {"lr_schedule", "cosine"}, {"lr_total_steps", 1000}},
      kadam::TensorLayout({{"weights", 0, d}}), kadam::make_mpi_communicator(communicator));
  const kadam::ExecutionSpace exec;
  const kadam::Vector<float> x("x", d);
  const kadam::Vector<float> gradient("gradient", d);
  for (int step = 0; step < 1000; ++step) {
    Kokkos::parallel_for(
        "gradient", Kokkos::RangePolicy(exec, 0, d),
        KOKKOS_LAMBDA(const int i) { gradient(i) = x(i) - target; });
    optimizer->step(exec, x, gradient);
  }
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x)(d - 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool met = false;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    kadam::register_optimizer(kadam::algorithm_row<Lion>("lion", {.dense = true}));
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const float mean = 0.5F * static_cast<float>(size - 1);
    const float x = minimise(MPI_COMM_WORLD, static_cast<float>(rank));
    met = Kokkos::abs(x - mean) < 0.01F;
    if (rank == 0)
      std::printf("x = %.4f, expected %.4f\n", static_cast<double>(x), static_cast<double>(mean));
  }
  MPI_Finalize();
  return met ? 0 : 1;
}
