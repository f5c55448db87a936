// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/exchange_cases.hpp>
#include <bench/kernel_cases.hpp>
#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/frozen_momentum.hpp>
#include <kadam/collectives/chunk_gather.hpp>
#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/low_bit_reduce_scatter.hpp>
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/kernels/half_copy.hpp>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

namespace kadam::bench {
namespace {

constexpr std::int64_t scale_block = 2048;
constexpr std::int64_t loco_block = 256;
constexpr std::int64_t exchange_select_block = 4096;

/// Of this rank, and unlike those of others.
Vector<float> own_vector(const std::string& label, const Place& at, float size) {
  const ExecutionSpace exec;
  auto values = allocate<float>(exec, label, at.elements);
  fill(exec, values, size, 100U + static_cast<std::uint32_t>(at.communicator.rank()));
  return values;
}

/// The same on all ranks.
Vector<float> common_vector(const std::string& label, const Place& at, float value) {
  const ExecutionSpace exec;
  auto values = allocate<float>(exec, label, at.elements);
  Kokkos::deep_copy(exec, values, value);
  return values;
}

Exchange float32_mean(const Place& at) {
  const auto mean = std::make_shared<DenseMean>(ExecutionSpace{}, at.communicator, at.elements);
  const Vector<float> gradient = own_vector("kadam-bench::gradient", at, 1e-2F);
  return {[mean, gradient](const auto& exec, auto& /*communicator*/, auto& phases) {
    (void)(*mean)(exec, phases, gradient);
  }};
}

Exchange bfloat16_mean(const Place& at) {
  const ExecutionSpace exec;
  const auto mean = std::make_shared<DenseMean>(exec, at.communicator, at.elements, NumberFormat::bfloat16);
  const auto gradient = allocate<Bfloat16>(exec, "kadam-bench::bfloat16_gradient", at.elements);
  write_copy<ExecutionSpace, MemorySpace>(exec, own_vector("kadam-bench::gradient", at, 1e-2F),
                                          HalfCopy<MemorySpace>(gradient));
  exec.fence("kadam-bench: bfloat16 gradient");
  return {[mean, gradient](const auto& space, auto& /*communicator*/, auto& phases) {
    (void)mean->of_gradient(space, phases, gradient);
  }};
}

/// In place: without new numbers each time they would grow n-fold from run to run.
Exchange mpi_all_reduce(const Place& at) {
  const Vector<float> gradient = own_vector("kadam-bench::gradient", at, 1e-2F);
  return {[gradient](const auto& exec, auto& communicator, auto& phases) {
            const auto scope = phases.enter(exec, Phase::exchange);
            communicator.all_reduce_sum(exec, gradient);
          },
          [gradient, rank = at.communicator.rank()](const auto& exec) {
            fill(exec, gradient, 1e-2F, 100U + static_cast<std::uint32_t>(rank));
          }};
}

/// What FrozenVarianceAdam does after its warm-up, without kept-dense tensors.
class FrozenStep {
 public:
  FrozenStep(const Place& at, const std::string& code)
      : mean_(ExecutionSpace{}, make_quantiser(code), at.communicator, at.elements, scale_block),
        gradient_(own_vector("kadam-bench::gradient", at, 1e-2F)),
        update_{{segment_table({Segment{{0, at.elements}}}), AdamApplyOf::make(1e-3, 1e-8, 1.0, 1.0)},
                {common_vector("kadam-bench::x", at, 1.0F), common_vector("kadam-bench::v", at, 1e-6F)}} {}

  void operator()(const ExecutionSpace& exec, Phases& phases) {
    const LocalMomentum y{Ema::make(0.9), 1.0F};
    const auto arrived = [&](const ElementRange& range) {
      mean_.decode(exec, {}, range.begin, range.end, update_);
    };
    if (momentum_is_in_message_) {
      mean_.exchange_continued(exec, phases, OfNumbers<MemorySpace, LocalMomentum>{gradient_, y}, {},
                               arrived);
    } else {
      mean_.exchange(exec, phases, gradient_, {}, arrived);
    }
    momentum_is_in_message_ = true;
  }

 private:
  CompressedMean mean_;
  Vector<float> gradient_;
  UpdateBySegment<MemorySpace, AdamApplyOf, FrozenUpdate> update_;
  bool momentum_is_in_message_ = false;
};

ExchangeCase compressed_mean(const std::string& name, const std::string& code) {
  return {name, [code](const Place& at) {
            const auto step = std::make_shared<FrozenStep>(at, code);
            return Exchange{
                [step](const auto& exec, auto& /*communicator*/, auto& phases) { (*step)(exec, phases); }};
          }};
}

/// Gradients with 4 bits to their owners, parameters in float32 back; not what the owner does in between.
Exchange loco(const Place& at) {
  const auto reduce_scatter = std::make_shared<LowBitReduceScatter>(
      ExecutionSpace{}, make_quantiser("uniform4"), at.communicator, at.elements, loco_block, 0.8);
  const ChunkGather gather(at.communicator.arrangement(), at.elements, sizeof(float));
  const Vector<float> gradient = own_vector("kadam-bench::gradient", at, 1e-2F);
  const Vector<float> x = common_vector("kadam-bench::x", at, 1.0F);
  return {[reduce_scatter, gather, gradient, x](const auto& exec, auto& communicator, auto& phases) {
    (void)(*reduce_scatter)(exec, phases, gradient, 1.0F, {});
    const auto scope = phases.enter(exec, Phase::exchange);
    gather(exec, communicator, Traffic::dense, bytes_of(x));
  }};
}

/// Of a residual that has been gathered up for a while.
ExchangeCase sparse_mean(const std::string& name, SparseExchange exchange, double density) {
  return {name, [exchange, density](const Place& at) {
            const auto mean = std::make_shared<SparseMean>(
                ExecutionSpace{}, SparseOptions{density, exchange_select_block, exchange}, at.elements,
                at.communicator);
            const Vector<float> residual = own_vector("kadam-bench::residual", at, 1e-3F);
            const Vector<float> x = common_vector("kadam-bench::x", at, 1.0F);
            return Exchange{[mean, residual, x](const auto& exec, auto& /*communicator*/, auto& phases) {
                              mean->deliver(exec, phases, residual, x);
                            },
                            [residual, rank = at.communicator.rank()](const auto& exec) {
                              fill(exec, residual, 1e-3F, 100U + static_cast<std::uint32_t>(rank));
                            }};
          }};
}

}  // namespace

std::vector<ExchangeCase> exchange_cases() {
  constexpr double percent = 0.01;
  constexpr double one_of_1024 = 1.0 / 1024.0;
  return {{"MPI all-reduce, float32", mpi_all_reduce},
          {"dense mean, float32", float32_mean},
          {"dense mean, bf16", bfloat16_mean},
          compressed_mean("compressed mean, 1 bit", "sign"),
          compressed_mean("compressed mean, 4 bit", "uniform4"),
          compressed_mean("compressed mean, 8 bit", "uniform8"),
          {"LoCo, 4 bit", loco},
          sparse_mean("sparse mean, own, 1 %", SparseExchange::own, percent),
          sparse_mean("sparse mean, owner, 1 %", SparseExchange::owner, percent),
          sparse_mean("sparse mean, own, 1/1024", SparseExchange::own, one_of_1024),
          sparse_mean("sparse mean, owner, 1/1024", SparseExchange::owner, one_of_1024)};
}

std::vector<std::int64_t> default_sizes(std::optional<std::size_t> available_bytes, int ranks) {
  constexpr std::int64_t smallest = 1000;
  constexpr double without_knowledge = 1e7;
  const double largest =
      available_bytes ? static_cast<double>(*available_bytes) / 2.0 / (exchange_bytes_per_element * ranks)
                      : without_knowledge;
  std::vector<std::int64_t> sizes = {smallest, 10000, 100000, 1000000, 10000000, 25000000, 100000000};
  std::erase_if(sizes,
                [&](std::int64_t size) { return size > smallest && static_cast<double>(size) > largest; });
  return sizes;
}

std::optional<std::size_t> available_memory_bytes() {
  std::ifstream table("/proc/meminfo");
  std::string name;
  std::size_t kibibytes = 0;
  for (std::string rest; table >> name >> kibibytes; std::getline(table, rest)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

std::vector<std::int64_t> default_sizes(Communicator& communicator) {
  const auto own = static_cast<double>(available_memory_bytes().value_or(0));
  const std::vector<double> all = communicator.all_gather_values({&own, 1});
  const auto least = static_cast<std::size_t>(*std::min_element(all.begin(), all.end()));
  return default_sizes(least > 0 ? std::optional(least) : std::nullopt, communicator.size());
}

}  // namespace kadam::bench
