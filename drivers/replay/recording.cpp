// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <replay/recorded_gradients.hpp>
#include <replay/recording.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace kadam::replay {
namespace {

void write_case(const std::filesystem::path& file, int ranks, const TensorLayout& layout) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const Tensor& tensor : layout.tensors()) {
    nlohmann::json entry = {{"name", tensor.name}, {"begin", tensor.begin}, {"end", tensor.end}};
    if (!tensor.shape.empty()) entry["shape"] = tensor.shape;
    if (!tensor.spectral) entry["spectral"] = false;
    tensors.push_back(entry);
  }
  io::detail::HostFileWriter writer(file);
  writer.write(nlohmann::json{{"ranks", ranks}, {"tensors", tensors}}.dump(1) + "\n");
  writer.commit();
}

HostVector<float> on_host(const ExecutionSpace& exec, const Vector<const float>& values) {
  HostVector<float> host("kadam-replay::recorded", values.extent(0));
  Kokkos::deep_copy(exec, host, values);
  exec.fence("kadam-replay: recorded");
  return host;
}

}  // namespace

Recording::Recording(const ExecutionSpace& exec, const std::filesystem::path& folder,
                     const Communicator& communicator, const TensorLayout& tensors,
                     const Vector<const float>& parameters, std::int64_t steps)
    : gradients_(folder / own_gradients_name(communicator.rank()),
                 std::array<std::int64_t, 2>{steps, tensors.elements()}),
      host_(on_host(exec, parameters)) {
  if (communicator.rank() != 0) return;
  write_case(folder / "case.json", communicator.size(), tensors);
  io::write_npy(folder / "parameters.npy", std::array<std::int64_t, 1>{tensors.elements()},
                {host_.data(), host_.size()});
}

void Recording::add(const ExecutionSpace& exec, const Vector<const float>& gradient) {
  Kokkos::deep_copy(exec, host_, gradient);
  exec.fence("kadam-replay: recorded");
  gradients_.write(steps_ * static_cast<std::int64_t>(host_.size()), {host_.data(), host_.size()});
  ++steps_;
}

}  // namespace kadam::replay
