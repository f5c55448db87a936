// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A perceptron of LibTorch learns a function of the plane; Kadam trains it on the ranks of mpirun:
//   mpirun -n 4 example_libtorch [OPTIMIZER]
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <cstdio>
#include <string>
#include <torch/torch.h>
#include <utility>
#include <vector>

namespace {

constexpr int steps = 1000;
constexpr int warmup_steps = 200;
constexpr int batch = 64;  ///< per rank

/// The parameters of a module as one vector, and their gradients as another. The module's tensors become
/// views of them: what Kadam writes the network has, what the backward pass adds Kadam reads.
struct FlatParameters {
  kadam::TensorLayout layout;
  torch::Tensor x;
  torch::Tensor gradient;
};

FlatParameters flatten(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  kadam::TensorLayoutBuilder builder;
  std::vector<torch::Tensor> pieces;
  for (const auto& entry : module.named_parameters()) {
    builder.add(entry.key(), entry.value().sizes().vec());
    pieces.push_back(entry.value().flatten());
  }
  FlatParameters flat{builder.build(), torch::cat(pieces), {}};
  flat.gradient = torch::zeros_like(flat.x);
  const std::vector<kadam::Tensor>& places = flat.layout.tensors();
  std::size_t k = 0;
  for (torch::Tensor& parameter : module.parameters()) {
    const kadam::Tensor& place = places[k++];
    parameter.set_data(flat.x.slice(0, place.begin, place.end).view_as(parameter));
    parameter.mutable_grad() = flat.gradient.slice(0, place.begin, place.end).view_as(parameter);
  }
  return flat;
}

kadam::Vector<float> as_view(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

struct Samples {
  torch::Tensor points;
  torch::Tensor values;
};

Samples draw(std::int64_t count) {
  const torch::Tensor points = 4 * torch::rand({count, 2}) - 2;
  const torch::Tensor values = torch::sin(2 * points.select(1, 0)) * torch::cos(3 * points.select(1, 1));
  return {points, values.unsqueeze(1)};
}

torch::nn::Sequential make_network() {
  return torch::nn::Sequential(torch::nn::Linear(2, 64), torch::nn::Tanh(), torch::nn::Linear(64, 64),
                               torch::nn::Tanh(), torch::nn::Linear(64, 1));
}

torch::Tensor loss_of(torch::nn::Sequential& network, const Samples& samples) {
  return torch::mse_loss(network->forward(samples.points), samples.values);
}

void train(torch::nn::Sequential& network, const FlatParameters& flat, kadam::Optimizer& optimizer) {
  const kadam::ExecutionSpace exec;
  const kadam::Vector<float> x = as_view(flat.x);
  const kadam::Vector<float> gradient = as_view(flat.gradient);
  for (int step = 0; step < steps; ++step) {
    flat.gradient.zero_();
    loss_of(network, draw(batch)).backward();
    optimizer.step(exec, x, gradient);
    exec.fence();  // LibTorch reads what Kadam wrote
  }
  optimizer.flush(exec, x);
  exec.fence();
}

float held_out_loss(torch::nn::Sequential& network) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(12345);
  return loss_of(network, draw(4000)).item<float>();
}

kadam::OptionMap options_of(const std::string& name) {
  kadam::OptionMap options = {{"lr", 0.01}, {"lr_schedule", "cosine"}, {"lr_total_steps", steps}};
  const kadam::OptimizerTraits& traits = kadam::optimizer_traits(name);
  if (traits.needs_warmup) options[traits.warmup] = warmup_steps;
  return options;
}

bool run(const std::string& name) {
  const auto communicator = kadam::make_mpi_communicator(MPI_COMM_WORLD);
  torch::manual_seed(1);  // parameters start equal on all ranks
  torch::nn::Sequential network = make_network();
  const FlatParameters flat = flatten(*network);
  const auto optimizer = kadam::make_optimizer(name, options_of(name), flat.layout, communicator);
  const float before = held_out_loss(network);
  torch::manual_seed(100 + communicator->rank());  // each has samples of its own
  train(network, flat, *optimizer);
  const float after = held_out_loss(network);
  if (communicator->rank() == 0) {
    std::printf("%s on %d ranks: held-out loss %.4f before, %.4f after %d steps\n", name.c_str(),
                communicator->size(), static_cast<double>(before), static_cast<double>(after), steps);
    std::printf("%zu B sent per step; the gradient has %zu B\n", communicator->bytes_sent().total() / steps,
                sizeof(float) * static_cast<std::size_t>(flat.layout.elements()));
  }
  return after < 0.1F * before;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool learnt = false;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    learnt = run(argc > 1 ? argv[1] : "onebit_adam");
  }
  MPI_Finalize();
  return learnt ? 0 : 1;
}
