// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/kernels/lamb_update.hpp>
#include <kadam/kernels/onebit_lamb_update.hpp>

#include <string>

/// LAMB and 1-bit LAMB, over a vector of four tensors.
namespace kadam::bench {
namespace {

constexpr double lamb_gamma = 1e-3;
constexpr double lamb_eps = 1e-8;

Vector<float> ones_of_tensors(const std::string& label) {
  const Vector<float> view(label, 4);
  Kokkos::deep_copy(view, 1.0F);
  return view;
}

Vector<double> partial_sums(const TensorTiles<MemorySpace>& tiles, std::int64_t per_tile) {
  return Vector<double>("kadam-bench::partial", static_cast<std::size_t>(per_tile * tiles.tile_count()));
}

/// What both algorithms know of the tensors; shared by their cases.
struct FourTensors {
  explicit FourTensors(std::int64_t d)
      : tiles(TensorTiles<MemorySpace>::make({0, d / 4, d / 2, 3 * (d / 4), d})) {
    dense.lr_scale = ones_of_tensors("kadam-bench::lr_scale");
    dense.lambda = ones_of_tensors("kadam-bench::lambda");  // without decay, some norms are not taken
    dense.trust_ratio = ones_of_tensors("kadam-bench::trust_ratio");
    dense.partial = partial_sums(tiles, 2);
    frozen.momentum_scale = ones_of_tensors("kadam-bench::momentum_scale");
    frozen.trust_ratio = dense.trust_ratio;
    frozen.ratio = ones_of_tensors("kadam-bench::ratio");
    frozen.partial = partial_sums(tiles, 3);
  }

  TensorTiles<MemorySpace> tiles;
  LambTensors<MemorySpace> dense;
  OnebitLambTensors<MemorySpace> frozen;
};

OnebitLambStep onebit_step() {
  OnebitLambStep rule;
  rule.eps = static_cast<float>(lamb_eps);
  rule.gamma = static_cast<float>(lamb_gamma);
  return rule;
}

/// Both passes.
KernelCase lamb(const Vectors& vectors, const FourTensors& tensors) {
  LambStep rule;
  rule.first = Ema::make(0.9);
  rule.second = Ema::make(0.999);
  rule.gamma = static_cast<float>(lamb_gamma);
  rule.eps = static_cast<float>(lamb_eps);
  return {"lamb_update", 40.0, vectors.elements, Limit::update, [&vectors, tensors, rule](const auto& exec) {
            const auto& [tiles, dense, frozen] = tensors;
            lamb_moments<ExecutionSpace, MemorySpace>(exec, rule, tiles, dense, vectors.x, vectors.m,
                                                      vectors.v, vectors.gradient);
            lamb_trust_ratios(exec, tiles, dense, 0.01, 10.0);
            lamb_apply<ExecutionSpace, MemorySpace>(exec, rule, tiles, dense, vectors.x, vectors.m,
                                                    vectors.v);
          }};
}

KernelCase scaled_momentum(const Vectors& vectors, const FourTensors& tensors) {
  return {
      "add_scaled_momentum", 16.0, vectors.elements, Limit::update, [&vectors, tensors](const auto& exec) {
        add_scaled_momentum<ExecutionSpace, MemorySpace>(exec, tensors.tiles, tensors.frozen, Ema::make(0.9),
                                                         1.0F, vectors.m, vectors.gradient, vectors.error);
      }};
}

KernelCase norms(const Vectors& vectors, const FourTensors& tensors) {
  return {"momentum_norms", 8.0, vectors.elements, Limit::read, [&vectors, tensors](const auto& exec) {
            momentum_norms<ExecutionSpace, MemorySpace>(exec, tensors.tiles, vectors.m, vectors.v,
                                                        tensors.frozen.partial);
          }};
}

KernelCase ratios(const Vectors& vectors, const FourTensors& tensors) {
  const Vector<float> fresh("kadam-bench::fresh", static_cast<std::size_t>(vectors.elements));
  Kokkos::deep_copy(fresh, 1e-6F);
  return {"onebit_lamb_ratios", 16.0, vectors.elements, Limit::read,
          [&vectors, tensors, fresh](const auto& exec) {
            onebit_lamb_ratios<ExecutionSpace, MemorySpace>(exec, onebit_step(), tensors.tiles, tensors.dense,
                                                            tensors.frozen, vectors.x, vectors.m, vectors.v,
                                                            fresh);
          }};
}

KernelCase onebit_apply(const Vectors& vectors, const FourTensors& tensors) {
  return {"onebit_lamb_apply", 16.0, vectors.elements, Limit::update, [&vectors, tensors](const auto& exec) {
            onebit_lamb_apply<ExecutionSpace, MemorySpace>(exec, onebit_step(), tensors.tiles, tensors.dense,
                                                           tensors.frozen, vectors.x, vectors.m, vectors.v);
          }};
}

}  // namespace

std::vector<KernelCase> lamb_cases(const Vectors& vectors) {
  const FourTensors tensors(vectors.elements);
  return {lamb(vectors, tensors), scaled_momentum(vectors, tensors), norms(vectors, tensors),
          ratios(vectors, tensors), onebit_apply(vectors, tensors)};
}

}  // namespace kadam::bench
