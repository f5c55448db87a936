// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/adam.hpp>
#include <kadam/optim/dense_adam_step.hpp>

#include <utility>

namespace kadam {

Adam::Adam(const Options& options, TensorLayout layout, std::shared_ptr<Communicator> communicator)
    : Optimizer("adam", std::move(layout), std::move(communicator), options.common), options_(options) {
  const ExecutionSpace exec;
  state_.m = allocate_zeros<float>(exec, "kadam::Adam::m", elements());
  state_.v = allocate_zeros<float>(exec, "kadam::Adam::v", elements());
  mean_ = DenseMean(exec, ChunkLayout(elements(), this->communicator().size()), this->communicator().rank());
  exec.fence("kadam::Adam");
}

void Adam::advance(const ExecutionSpace& exec, const Vector<float>& x, const Vector<const float>& gradient,
                   StepResult& result) {
  const Vector<const float> g = mean_(exec, communicator(), phases(), gradient);
  const auto scope = phases().enter(exec, Phase::decode);
  result.gradient_scale = clip_factor_of(exec, g);
  dense_adam_step(exec, common(), groups(), steps_taken() + 1, result, x, state_.m, state_.v, g);
}

OptionMap Adam::options() const {
  return show_options(options_);
}

MemoryUse Adam::memory() const {
  return {2 * static_cast<std::size_t>(elements()) * sizeof(float), mean_.memory_bytes()};
}

BytesPerStep Adam::bytes_per_step() const {
  const std::size_t bytes = mean_.bytes_sent();
  return {bytes, bytes};
}

}  // namespace kadam
