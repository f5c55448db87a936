// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/loco.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/half_copy.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kadam {
namespace {

struct WriteFrom {
  Vector<float> out;
  std::int64_t first;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float value) const {
    out(i - first) = value;
  }
};

}  // namespace

void Loco::Options::describe(OptionFields& fields) {
  common.describe(fields);
  describe_code(fields, code, code_names<UniformCode>());
  fields.add("block", block, Range::at_least(0), "elements that share a scale (0: one scale per chunk)");
  fields.add("error_beta", error_beta, Range::at_least(0.0).below(1.0), "decay of the moving-average error");
  fields.add("error_reset", error_reset, Range::at_least(0),
             "steps after which the error is set to 0 (0: never)");
  fields.add_choice("parameters", parameters, {"float32", "bf16"}, "format in which parameters are sent");
}

bool Loco::Options::rounds(const Arrangement& ranks) const {
  return parameters == "bf16" && ranks.ranks > 1;
}

AlgorithmCost Loco::cost(const Options& options, const Problem& problem) {
  const Arrangement& ranks = problem.ranks;
  const std::int64_t d = problem.elements();
  const bool rounds = options.rounds(ranks);
  const auto own = static_cast<std::size_t>(ChunkLayout(d, ranks.ranks).chunk(ranks.own_chunk()).elements());
  Cost mean =
      LowBitLayout(ranks, make_quantiser(options.code), d, options.block, options.common.gradients).cost();
  const Cost gather = ChunkGather(ranks, d, rounds ? sizeof(Bfloat16) : sizeof(float)).cost();
  mean.transfers.insert(mean.transfers.end(), gather.transfers.begin(), gather.transfers.end());
  const Cost kept = dense_subset_cost(ranks, problem.groups.dense);
  StepPhase phase;
  phase.name = "compressed";
  phase.add({cost::check, problem.all()});
  phase.add(mean, Hiding::pieces);
  phase.add(kept, Hiding::nothing);
  phase.add({cost::adam_update, static_cast<double>(own)});
  if (rounds) phase.add({cost::copy, problem.all() + static_cast<double>(own)});
  AlgorithmCost cost{{std::move(phase)}, mean.memory};
  cost.memory += kept.memory;
  cost.memory += {(rounds ? 3 : 2) * sizeof(float) * own,
                  CompressedCoordinates::memory_bytes(d) + (rounds ? problem.vectors(1) / 2 : 0)};
  return cost;
}

Loco::Loco(const Options& options, Workplace& at) : Algorithm(at), options_(options) {
  const ExecutionSpace exec;
  const Arrangement ranks = communicator().arrangement();
  rounds_ = options.rounds(ranks);
  own_ = ChunkLayout(elements(), ranks.ranks).chunk(ranks.own_chunk());
  moments_ = Moments::zeros(exec, "kadam::Loco", own_.elements());
  reduce_scatter_ = LowBitReduceScatter(exec, make_quantiser(options.code), communicator(), elements(),
                                        options.block, options.error_beta, common().gradients);
  kept_dense_ = DenseSubset(exec, communicator(), groups().dense);
  coordinates_ = CompressedCoordinates(exec, elements(), groups().dense);
  gather_ = ChunkGather(ranks, elements(), rounds_ ? sizeof(Bfloat16) : sizeof(float));
  if (rounds_) {
    master_ = allocate<float>(exec, "kadam::Loco::master", own_.elements());
    rounded_ = allocate<Bfloat16>(exec, "kadam::Loco::rounded", elements());
  }
  exec.fence("kadam::Loco");
}

void Loco::advance(Step& step) {
  step.result.phase = "compressed";
  if (rounds_ && step.t == 1) Kokkos::deep_copy(step.exec, master_, shard_of(step.x()));
  const Vector<float> g = reduce_gradient(step);
  step.result.gradient_scale = clip_factor_of_shards(step, g);
  update_shard(step, rounds_ ? master_ : shard_of(step.x()), g);
  gather_parameters(step);
  if (options_.error_reset > 0 && step.t % options_.error_reset == 0) reduce_scatter_.reset_error(step.exec);
}

Vector<float> Loco::reduce_gradient(const Step& step) {
  const Vector<float> g = reduce_scatter_(step.exec, step.phases, step.gradient, 1.0F, coordinates_.active());
  kept_dense_.exchange(step.exec, step.phases, step.gradient);
  kept_dense_.decode(step.exec, own_.begin, own_.end, WriteFrom{g, own_.begin});
  return g;
}

double Loco::clip_factor_of_shards(const Step& step, const Vector<const float>& g) {
  if (common().clip_norm == 0.0) return 1.0;
  const auto scope = step.enter(Phase::check);
  return clip_factor(std::sqrt(step.communicator.sum_over_ranks(squared_norm(step.exec, g))));
}

void Loco::update_shard(const Step& step, const Vector<float>& shard, const Vector<const float>& g) const {
  auto rule = step.adam_rule();
  rule.offset = own_.begin;
  update_by_adam(step.exec, rule, shard, moments_, g);
}

void Loco::gather_parameters(const Step& step) {
  if (step.communicator.size() == 1) return;
  if (rounds_) {
    gather_rounded_parameters(step);
  } else {
    const auto scope = step.enter(Phase::exchange);
    gather_(step.exec, step.communicator, Traffic::dense, bytes_of(step.x()));
  }
}

void Loco::gather_rounded_parameters(const Step& step) {
  {
    const auto scope = step.enter(Phase::encode);
    const Vector<Bfloat16> own = Kokkos::subview(rounded_, Kokkos::make_pair(own_.begin, own_.end));
    write_copy<ExecutionSpace, MemorySpace>(step.exec, master_, HalfCopy<MemorySpace>(own));
  }
  {
    const auto scope = step.enter(Phase::exchange);
    gather_(step.exec, step.communicator, Traffic::dense, bytes_of(rounded_));
  }
  const auto scope = step.enter(Phase::decode);
  scale_numbers<ExecutionSpace, MemorySpace>(step.exec, 1.0F, rounded_, step.x());
}

Vector<float> Loco::shard_of(const Vector<float>& x) const {
  return Kokkos::subview(x, Kokkos::make_pair(own_.begin, own_.end));
}

void Loco::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  const Placement in_shards = {elements(), own_, 1, 0};
  fields.vector("m", moments_.m, in_shards);
  fields.vector("v", moments_.v, in_shards);
  if (rounds_) fields.common_parameters(master_, in_shards);
  reduce_scatter_.describe_state(exec, fields);
}

void Loco::adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                       const Restoration& restoration) {
  reduce_scatter_.adopt_state(exec, fields, restoration.to_the_last_bit);
}

void Loco::add_health(const ExecutionSpace& exec, Health& health) {
  const double delivered = communicator().sum_over_ranks(squared_norm(exec, reduce_scatter_.mean()));
  health.error_ratio = owed_ratio(reduce_scatter_.squared_error(exec, sum_space()), delivered);
}

}  // namespace kadam
