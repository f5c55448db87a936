// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/algorithms/algorithm.hpp>
#include <kadam/kernels/lamb_update.hpp>
#include <kadam/kernels/onebit_lamb_update.hpp>

#include <string>
#include <utility>
#include <vector>

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

std::vector<std::int64_t> boundaries_of_quarters(std::int64_t d) {
  return {0, d / 4, d / 2, 3 * (d / 4), d};
}

std::vector<Segment> quarters(std::int64_t d) {
  const std::vector<std::int64_t> boundaries = boundaries_of_quarters(d);
  std::vector<Segment> tensors;
  for (std::size_t k = 0; k < 4; ++k) tensors.push_back({{boundaries[k], boundaries[k + 1]}});
  return tensors;
}

/// The tables of four tensors; shared by the cases of both algorithms.
struct FourTensors {
  explicit FourTensors(std::int64_t d) : tiles(TensorTiles<MemorySpace>::make(boundaries_of_quarters(d))) {
    dense.lr_scale = ones_of_tensors("kadam-bench::lr_scale");
    dense.lambda = ones_of_tensors("kadam-bench::lambda");  // without decay, some norms are not taken
    dense.trust_ratio = ones_of_tensors("kadam-bench::trust_ratio");
    dense.partial = partial_sums(tiles, 2);
    frozen.momentum_scale = ones_of_tensors("kadam-bench::momentum_scale");
    frozen.trust_ratio = dense.trust_ratio;
    frozen.ratio = ones_of_tensors("kadam-bench::ratio");
    frozen.partial = partial_sums(tiles, 3);
    frozen.is_kept = Vector<std::uint8_t>("kadam-bench::is_kept", 4);
  }

  TensorTiles<MemorySpace> tiles;
  LambTensors<MemorySpace> dense;
  OnebitLambTensors<MemorySpace> frozen;
};

/// Both passes: with u in place of the mean gradient, as several ranks do it, and with a u that is computed
/// twice, as a single rank does, whose gradient belongs to the caller.
std::vector<KernelCase> lamb(const Vectors& vectors, const FourTensors& tensors) {
  LambStep rule;
  rule.first = Ema::make(0.9);
  rule.second = Ema::make(0.999);
  rule.gamma = static_cast<float>(lamb_gamma);
  rule.eps = static_cast<float>(lamb_eps);
  const std::int64_t d = vectors.elements;
  return {{"lamb_update", 40.0, d, Limit::update,
           [&vectors, tensors, rule](const auto& exec) {
             const auto& [tiles, dense, frozen] = tensors;
             lamb_directions<ExecutionSpace, MemorySpace>(exec, rule, tiles, dense, vectors.x, vectors.m,
                                                          vectors.v, vectors.error);
             lamb_trust_ratios(exec, tiles, dense, 0.01, 10.0);
             lamb_apply<ExecutionSpace, MemorySpace>(exec, rule, tiles, dense, vectors.x, vectors.error);
           }},
          {"lamb_update, one rank", 40.0, d, Limit::update, [&vectors, tensors, rule](const auto& exec) {
             const auto& [tiles, dense, frozen] = tensors;
             lamb_moments<ExecutionSpace, MemorySpace>(exec, rule, tiles, dense, vectors.x, vectors.m,
                                                       vectors.v, vectors.gradient);
             lamb_trust_ratios(exec, tiles, dense, 0.01, 10.0);
             lamb_apply<ExecutionSpace, MemorySpace>(exec, rule, tiles, dense, vectors.x, vectors.m,
                                                     vectors.v);
           }}};
}

KernelCase norms(const Vectors& vectors, const FourTensors& tensors) {
  return {"momentum_norms", 8.0, vectors.elements, Limit::read, [&vectors, tensors](const auto& exec) {
            momentum_norms<ExecutionSpace, MemorySpace>(exec, tensors.tiles, vectors.m, vectors.v,
                                                        tensors.frozen.partial);
          }};
}

/// The kernels of a compressed step of 1-bit LAMB on 4 ranks.
struct OnebitLambKernels {
  OnebitLambKernels(const Vectors& of_all, const FourTensors& of_tensors)
      : vectors(of_all),
        tensors(of_tensors),
        code("sign", of_all, ranks_of_step),
        table(segment_table(quarters(of_all.elements))),
        fresh(allocate<float>({}, "kadam-bench::fresh", of_all.elements)),
        before(allocate_zeros<std::uint32_t>({}, "kadam-bench::message_before",
                                             words_of(code.codec.message().total_bytes()))) {
    Kokkos::deep_copy(fresh, 1e-6F);
    rule.fresh = FreshVariance::make(0.9, 0.999);
    rule.eps = static_cast<float>(lamb_eps);
    rule.gamma = static_cast<float>(lamb_gamma);
  }

  void encode(const ExecutionSpace& exec) const {
    using Input = OfNumbers<MemorySpace, ScaledMomentum>;
    using Load = LoadBySegment<MemorySpace, MomentumScaleOf<MemorySpace>, Input>;
    const Load load{{table, {tensors.frozen.momentum_scale}}, {vectors.gradient, {Ema::make(0.9), 1.0F}}};
    code.codec.encode<SignCode>(exec, code.codec.message().map(),
                                ContinuedLoad<Load, MemorySpace>{load, code.message}, {}, vectors.error,
                                code.message);
  }
  void reduce(const ExecutionSpace& exec) const {
    code.codec.reduce(exec, 0, code.codec.message().chunk_map(0), ranks_of_step, code.message, {},
                      vectors.error, code.reply);
  }
  void ratios(const ExecutionSpace& exec) const {
    onebit_lamb_ratios<ExecutionSpace, SignQuantiser, MemorySpace>(
        exec, rule, tensors.tiles, tensors.dense, tensors.frozen, momentum(), vectors.x, vectors.v, fresh);
  }
  void apply(const ExecutionSpace& exec) const {
    onebit_lamb_apply<ExecutionSpace, SignQuantiser, MemorySpace>(
        exec, rule, tensors.tiles, tensors.dense, tensors.frozen, momentum(), vectors.x, vectors.v);
  }
  void keep_message(const ExecutionSpace& exec) const { Kokkos::deep_copy(exec, before, code.message); }

  const Vectors& vectors;
  FourTensors tensors;
  Code code;
  SegmentTable<MemorySpace> table;
  Vector<float> fresh;
  Words<MemorySpace> before;
  OnebitLambStep rule;

 private:
  [[nodiscard]] OnebitLambMomentum<SignQuantiser, MemorySpace> momentum() const {
    return {{SignQuantiser{}, code.codec.message().map(), code.message}, before, vectors.m};
  }
};

std::vector<KernelCase> onebit_lamb(const Vectors& vectors, const FourTensors& tensors) {
  const OnebitLambKernels kernels(vectors, tensors);
  const std::int64_t d = vectors.elements;
  const double bytes = kernels.code.bytes;
  const double reduced = (8.0 + (ranks_of_step + 1) * bytes) / ranks_of_step;
  return {
      {"encode sign, scaled momentum", 12.0 + 2 * bytes, d, Limit::update,
       [kernels](const auto& exec) { kernels.encode(exec); }},
      {"onebit_lamb_ratios", 16.0 + 2 * bytes, d, Limit::update,
       [kernels](const auto& exec) { kernels.ratios(exec); }},
      {"onebit_lamb_apply", 12.0 + bytes, d, Limit::update,
       [kernels](const auto& exec) { kernels.apply(exec); }},
      {"onebit_lamb step, n = 4", 40.0 + 7 * bytes + reduced, d, Limit::update, [kernels](const auto& exec) {
         kernels.keep_message(exec);
         kernels.encode(exec);
         kernels.reduce(exec);
         kernels.ratios(exec);
         kernels.apply(exec);
       }}};
}

}  // namespace

std::vector<KernelCase> lamb_cases(const Vectors& vectors) {
  const FourTensors tensors(vectors.elements);
  std::vector<KernelCase> cases = lamb(vectors, tensors);
  cases.push_back(norms(vectors, tensors));
  for (KernelCase& one : onebit_lamb(vectors, tensors)) cases.push_back(std::move(one));
  return cases;
}

}  // namespace kadam::bench
