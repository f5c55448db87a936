// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What pages show in C++, in a program that does what they say. Run in an empty folder.
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/snapshots.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/comm/socket_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t d = 1000;

std::unique_ptr<kadam::Optimizer> make_adam() {
  return kadam::make_optimizer("adam", {{"lr", 0.01}}, kadam::TensorLayout({{"weights", 0, d}}),
                               kadam::make_mpi_communicator(MPI_COMM_WORLD));
}

void announce_and_step(const std::unique_ptr<kadam::Optimizer>& optimizer, const kadam::ExecutionSpace& exec,
                       const kadam::Vector<float>& parameters, const kadam::Vector<float>& gradient,
                       std::int64_t begin, std::int64_t end) {
  optimizer->gradient_ready(exec, gradient, {begin, end});  // as often as something is final, in any order
  optimizer->step(exec, parameters, gradient);              // waits for what is still missing
}

void save_and_restore(const std::unique_ptr<kadam::Optimizer>& optimizer, const kadam::ExecutionSpace& exec,
                      const kadam::Vector<float>& parameters) {
  kadam::checkpoint::save(exec, *optimizer, parameters, "checkpoints", {{"epoch", "12"}});
  const auto restored = kadam::checkpoint::restore_newest(exec, *optimizer, parameters, "checkpoints");
  if (restored)
    std::printf("after step %ld, epoch %s\n", restored->step, restored->program.at("epoch").c_str());
}

/// README.md: each rank has a target of its own; they meet at the mean.
void compute_gradient(const kadam::ExecutionSpace& exec, const kadam::Vector<float>& x,
                      const kadam::Vector<float>& gradient) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Kokkos::parallel_for(
      "gradient", Kokkos::RangePolicy(exec, 0, d),
      KOKKOS_LAMBDA(const int i) { gradient(i) = x(i) - static_cast<float>(rank); });
}

void minimise(MPI_Comm communicator, const kadam::ExecutionSpace& exec, const kadam::Vector<float>& x,
              const kadam::Vector<float>& gradient) {
  const kadam::TensorLayout tensors({{"weights", 0, d}});
  const auto optimizer = kadam::make_optimizer("onebit_adam", {{"lr", 0.01}, {"warmup_steps", 100}}, tensors,
                                               kadam::make_mpi_communicator(communicator));
  for (int step = 0; step < 1000; ++step) {
    compute_gradient(exec, x, gradient);  // of this rank's own batch
    optimizer->step(exec, x, gradient);   // from here on x is the same on all ranks
  }
}

bool is_mean_of_ranks(const kadam::Vector<float>& x) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
  return Kokkos::abs(host(d - 1) - 0.5F * static_cast<float>(ranks - 1)) < 0.05F;
}

/// Trains on whoever is left.
void train_on_survivors(std::unique_ptr<kadam::Optimizer>& optimizer, const kadam::ExecutionSpace& exec,
                        const kadam::Vector<float>& x, const kadam::Vector<float>& gradient) {
  constexpr std::int64_t steps = 4;
  const std::string name = optimizer->name();
  const kadam::OptionMap options = optimizer->options();
  const kadam::TensorLayout layout = optimizer->layout();
  kadam::checkpoint::Snapshots snapshots(*optimizer, {.every = 100, .spread = 1});
  snapshots.take(exec, *optimizer, x, {{"step", "0"}});  // a rank may fail before step 100
  for (std::int64_t step = 1; step <= steps; ++step) {
    try {
      optimizer->step(exec, x, gradient);
      snapshots.after_step(exec, *optimizer, x, {{"step", std::to_string(step)}});
    } catch (const kadam::PeerFailure&) {
      const auto make = [&](const auto& survivors) -> kadam::Optimizer& {
        optimizer = kadam::make_optimizer(name, options, layout, survivors);
        return *optimizer;
      };
      const auto from = snapshots.go_on(exec, *optimizer, x, make);
      step = std::stol(from.program.at("step"));
    }
  }
}

/// Takes others in while it trains.
void train_with_newcomers(std::unique_ptr<kadam::Optimizer>& optimizer, const kadam::ExecutionSpace& exec,
                          const kadam::Vector<float>& x, const kadam::Vector<float>& gradient) {
  kadam::checkpoint::Snapshots snapshots(*optimizer, {.every = 1, .spread = 1});
  const auto make = [&](const auto& /*ranks*/) -> kadam::Optimizer& { return *optimizer; };
  const std::int64_t step = optimizer->step(exec, x, gradient).step;
  snapshots.after_step(exec, *optimizer, x);
  if (snapshots.has_newcomers())
    (void)snapshots.admit(exec, *optimizer, x, {{"step", std::to_string(step)}}, make);
}

/// Joins ranks that train; the step that they stand at. Compiled alone: there is nobody to join here.
[[maybe_unused]] std::int64_t join(const std::vector<std::string>& doors, const std::string& name,
                                   const kadam::OptionMap& options, const kadam::TensorLayout& layout,
                                   const kadam::ExecutionSpace& exec, const kadam::Vector<float>& x,
                                   const kadam::checkpoint::Snapshots::MakeOptimizer& make) {
  auto alone = kadam::make_optimizer(name, options, layout, kadam::Communicator::self());
  kadam::checkpoint::Snapshots snapshots({.every = 100, .spread = 1});
  auto ranks = kadam::join_socket_communicator(doors, snapshots.kind_of(*alone));
  const auto from = snapshots.restore_on(exec, ranks, x, make);
  return std::stol(from.program.at("step"));
}

/// Whether the step after it is taken at half the rate.
bool halves_its_rate(const std::unique_ptr<kadam::Optimizer>& optimizer, const kadam::ExecutionSpace& exec,
                     const kadam::Vector<float>& parameters, const kadam::Vector<float>& gradient) {
  const kadam::StepResult result = optimizer->step(exec, parameters, gradient);
  const bool stands_still = result.gradient_norm > 0.0;
  if (stands_still) optimizer->set({{"lr", 0.5 * result.learning_rate}});
  return optimizer->step(exec, parameters, gradient).learning_rate == 0.5 * result.learning_rate;
}

/// Adam's first step has the length of the learning rate, whatever the gradient is.
bool trains() {
  const kadam::ExecutionSpace exec;
  const auto optimizer = make_adam();
  const kadam::Vector<float> parameters("parameters", d);
  const kadam::Vector<float> gradient("gradient", d);
  Kokkos::deep_copy(exec, gradient, 3.0F);
  announce_and_step(optimizer, exec, parameters, gradient, 0, d);
  save_and_restore(optimizer, exec, parameters);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, parameters);
  const bool is_first_right = Kokkos::abs(host(d - 1) + 0.01F) < 1e-6F && optimizer->steps_taken() == 1;
  const bool is_rate_right = halves_its_rate(optimizer, exec, parameters, gradient);
  minimise(MPI_COMM_WORLD, exec, parameters, gradient);
  const bool is_at_the_mean = is_mean_of_ranks(parameters);
  std::unique_ptr<kadam::Optimizer> another = make_adam();
  train_on_survivors(another, exec, parameters, gradient);
  train_with_newcomers(another, exec, parameters, gradient);
  return is_first_right && is_rate_right && is_at_the_mean && another->steps_taken() == 5;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool is_right = false;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    is_right = trains();
  }
  MPI_Finalize();
  return is_right ? 0 : 1;
}
