// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <replay/trajectory.hpp>

#include <algorithm>
#include <utility>

namespace kadam::replay {

Trajectory::Trajectory(const ExecutionSpace& exec, std::unique_ptr<Optimizer> optimizer,
                       std::span<const float> start)
    : optimizer_(std::move(optimizer)),
      rounded_(exec, optimizer_->gradient_format(), optimizer_->layout().elements()),
      parameters_(allocate<float>(exec, "kadam-replay::parameters", optimizer_->layout().elements())),
      host_(Kokkos::create_mirror_view(parameters_)) {
  exec.fence("kadam-replay: memory is there");
  std::copy(start.begin(), start.end(), host_.data());
  Kokkos::deep_copy(exec, parameters_, host_);
}

StepResult Trajectory::step(const ExecutionSpace& exec, const Vector<const float>& gradient) {
  const StepResult result = optimizer_->step(exec, parameters_, rounded_(exec, gradient));
  Kokkos::deep_copy(exec, host_, parameters_);
  exec.fence("kadam-replay: parameters are on the host");
  return result;
}

}  // namespace kadam::replay
