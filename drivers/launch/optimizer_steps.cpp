// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/content_hash.hpp>
#include <kadam/options/option_fields.hpp>
#include <launch/optimizer_steps.hpp>
#include <launch/session.hpp>

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kadam::launch {

RoundedGradient::RoundedGradient(const ExecutionSpace& exec, NumberFormat format, std::int64_t elements)
    : format_(format) {
  const char* const label = "kadam::launch::RoundedGradient";
  if (format == NumberFormat::bfloat16) bfloat16_ = allocate<Bfloat16>(exec, label, elements);
  if (format == NumberFormat::float16) float16_ = allocate<Float16>(exec, label, elements);
}

Gradient RoundedGradient::operator()(const ExecutionSpace& exec, const Vector<const float>& gradient) const {
  round(exec, gradient, {0, static_cast<std::int64_t>(gradient.extent(0))});
  return view(gradient);
}

Gradient RoundedGradient::view(const Vector<const float>& gradient) const {
  if (format_ == NumberFormat::float32) return gradient;
  return format_ == NumberFormat::bfloat16 ? Gradient(bfloat16_) : Gradient(float16_);
}

void RoundedGradient::round(const ExecutionSpace& exec, const Vector<const float>& gradient,
                            const ElementRange& range) const {
  if (format_ == NumberFormat::float32) return;
  const auto elements = Kokkos::make_pair(range.begin, range.end);
  const Vector<const float> part = Kokkos::subview(gradient, elements);
  const bool is_bfloat16 = format_ == NumberFormat::bfloat16;
  write_copy<ExecutionSpace, MemorySpace>(exec, part,
                                          is_bfloat16
                                              ? HalfCopy<MemorySpace>(Kokkos::subview(bfloat16_, elements))
                                              : HalfCopy<MemorySpace>(Kokkos::subview(float16_, elements)));
}

void require_learning_rates(const Optimizer& optimizer, std::int64_t steps) {
  const OptionMap& options = optimizer.options();
  const auto lr = options.find("lr");
  if (lr == options.end()) return;
  const auto* list = std::get_if<std::vector<double>>(&lr->second);
  if (list == nullptr || static_cast<std::int64_t>(list->size()) >= steps) return;
  throw UsageError(fmt::format("{}: 'lr' is a list of {} entries for a run of {} steps: give one per step",
                               optimizer.name(), list->size(), steps));
}

std::uint64_t require_equal_replicas(Communicator& communicator, const ExecutionSpace& exec,
                                     const Vector<float>& parameters) {
  const std::array<std::string, 1> names = {"the parameters (hash)"};
  const std::array<std::uint64_t, 1> hashes = {content_hash(exec, Vector<const float>(parameters))};
  try {
    communicator.require_equal(names, hashes, "report this with your configuration");
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(std::string("the parameters differ between ranks, but they must be equal. ") +
                             error.what());
  }
  return hashes.front();
}

}  // namespace kadam::launch
