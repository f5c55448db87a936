// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <replay/recorded_gradients.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <vector>

namespace kadam::replay {
namespace {

namespace fs = std::filesystem;

fs::path common_file(const ReplayCase& recorded) {
  return recorded.folder / "gradients.npy";
}

fs::path own_file(const ReplayCase& recorded, int rank) {
  return recorded.folder / own_gradients_name(rank);
}

io::NpyReader open(const ReplayCase& recorded, int rank, bool is_common) {
  if (is_common) return io::NpyReader(common_file(recorded));
  const fs::path own = own_file(recorded, rank);
  if (fs::exists(own)) return io::NpyReader(own, true);
  throw std::runtime_error(fmt::format("{}: expected gradients.npy or {} in this folder, found neither",
                                       recorded.folder.string(), own.filename().string()));
}

}  // namespace

std::string own_gradients_name(int rank) {
  return fmt::format("gradients.rank{}.npy", rank);
}

RecordedGradients::RecordedGradients(const ReplayCase& recorded, int rank)
    : is_common_(fs::exists(common_file(recorded))),
      file_(open(recorded, rank, is_common_)),
      elements_(recorded.tensors.elements()) {
  const std::vector<std::int64_t>& shape = file_.shape();
  const std::size_t at = is_common_ ? 1 : 0;  // where the steps stand
  steps_ = recorded.steps.value_or(shape.size() == at + 2 ? shape[at] : 0);
  std::vector<std::int64_t> expected = {steps_, elements_};
  if (is_common_) expected.insert(expected.begin(), recorded.ranks);
  if (shape != expected) {
    throw std::runtime_error(
        fmt::format("{}: expected the shape [{}], as in case.json, got [{}]",
                    (is_common_ ? common_file(recorded) : own_file(recorded, rank)).string(),
                    fmt::join(expected, ", "), fmt::join(shape, ", ")));
  }
  if (is_common_) first_ = rank * steps_ * elements_;
}

void RecordedGradients::read(std::int64_t t, std::span<float> gradient) {
  file_.read(first_ + t * elements_, gradient);
}

}  // namespace kadam::replay
