// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/optimizer_steps.hpp>
#include <replay/trajectory.hpp>

namespace kadam::replay {

HostVector<const float> row_of(const std::vector<float>& values, std::int64_t index, std::int64_t d) {
  using Unmanaged = Kokkos::View<const float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return Unmanaged(values.data() + index * d, static_cast<std::size_t>(d));
}

std::vector<float> trajectory(const ReplayCase& recorded, Optimizer& optimizer) {
  const ExecutionSpace exec;
  const std::int64_t d = recorded.tensors.elements();
  const auto parameters = allocate<float>(exec, "kadam-replay::parameters", d);
  const auto gradient = allocate<float>(exec, "kadam-replay::gradient", d);
  const launch::RoundedGradient rounded(exec, optimizer.gradient_format(), d);
  const HostVector<float> snapshot("kadam-replay::snapshot", static_cast<std::size_t>(d));
  Kokkos::deep_copy(exec, parameters, row_of(recorded.parameters, 0, d));
  std::vector<float> all;
  all.reserve(recorded.gradients.size());
  for (std::int64_t t = 0; t < recorded.steps; ++t) {
    Kokkos::deep_copy(exec, gradient, row_of(recorded.gradients, t, d));
    optimizer.step(exec, parameters, rounded(exec, gradient));
    Kokkos::deep_copy(exec, snapshot, parameters);
    exec.fence("kadam-replay: snapshot");
    all.insert(all.end(), snapshot.data(), snapshot.data() + d);
  }
  return all;
}

}  // namespace kadam::replay
