// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <replay/output.hpp>

#include <cstddef>

namespace kadam::replay {
namespace {

using HostFloats = Kokkos::View<const float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// A piece for each rank: all for rank 0.
std::vector<Piece> pieces_to_root(int ranks, std::size_t bytes) {
  std::vector<Piece> pieces(static_cast<std::size_t>(ranks), Piece{0, 0});
  pieces.front() = {0, bytes};
  return pieces;
}

std::vector<Piece> pieces_of_all(int ranks, std::size_t bytes) {
  std::vector<Piece> pieces;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) pieces.push_back({r * bytes, bytes});
  return pieces;
}

}  // namespace

Output::Output(const std::filesystem::path& path, const Communicator& communicator, std::int64_t steps,
               std::int64_t elements)
    : steps_(steps) {
  const ExecutionSpace exec;
  const bool is_root = communicator.rank() == 0;
  own_ = allocate<float>(exec, "kadam-replay::own", elements);
  all_ = allocate<float>(exec, "kadam-replay::all", is_root ? communicator.size() * elements : 0);
  if (is_root) file_.emplace(path, std::array<std::int64_t, 3>{communicator.size(), steps, elements});
}

void Output::write(const ExecutionSpace& exec, Communicator& communicator, std::int64_t t,
                   std::span<const float> own) {
  const std::size_t bytes = own.size() * sizeof(float);
  const int ranks = communicator.size();
  Kokkos::deep_copy(exec, own_, HostFloats(own.data(), own.size()));
  const std::vector<Piece> nothing(static_cast<std::size_t>(ranks), Piece{0, 0});
  communicator.all_to_all(exec, Traffic::control, bytes_of(own_), pieces_to_root(ranks, bytes),
                          bytes_of(all_), file_ ? pieces_of_all(ranks, bytes) : nothing);
  if (!file_) return;
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, all_);
  for (int r = 0; r < ranks; ++r) {
    const std::size_t begin = static_cast<std::size_t>(r) * own.size();
    file_->write((r * steps_ + t) * static_cast<std::int64_t>(own.size()), {host.data() + begin, own.size()});
  }
}

void Output::commit() {
  if (file_) file_->commit();
}

}  // namespace kadam::replay
