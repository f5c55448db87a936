// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/delayed_variance_mean.hpp>
#include <kadam/kernels/delayed_mean.hpp>

namespace kadam {

DelayedVarianceMean::DelayedVarianceMean(const ExecutionSpace& exec,
                                         const std::shared_ptr<Communicator>& communicator,
                                         std::int64_t elements, Progress progress)
    : snapshot_(allocate<float>(exec, "kadam::DelayedVarianceMean::snapshot", elements)),
      mean_(exec, communicator, ChunkLayout(elements, communicator->size()), progress) {}

void DelayedVarianceMean::start(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& v) {
  Kokkos::deep_copy(exec, snapshot_, v);
  const auto scope = phases.enter(exec, Phase::exchange);
  mean_.start(exec, snapshot_);
}

void DelayedVarianceMean::apply(const ExecutionSpace& exec, Phases& phases, double kept,
                                const Vector<float>& v) {
  Vector<const float> mean;
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    mean = mean_.mean(exec);
  }
  const auto scope = phases.enter(exec, Phase::decode);
  apply_delayed_mean<ExecutionSpace, MemorySpace>(exec, static_cast<float>(kept), mean, snapshot_, v);
}

}  // namespace kadam
