// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/gather_field.hpp>

#include <vector>

namespace kadam::insitu {
namespace {

/// Bytes of the blocks of all ranks, one after the other.
std::vector<Piece> pieces_of(const Decomposition& decomposition) {
  std::vector<Piece> pieces;
  std::size_t offset = 0;
  for (int rank = 0; rank < decomposition.ranks(); ++rank) {
    const std::size_t bytes =
        static_cast<std::size_t>(species * decomposition.block(rank).cells()) * sizeof(double);
    pieces.push_back({offset, bytes});
    offset += bytes;
  }
  return pieces;
}

Field field_at(const Vector<double>& buffer, const Piece& piece, const Block& block) {
  return Field(buffer.data() + piece.offset_bytes / sizeof(double), static_cast<std::size_t>(species),
               static_cast<std::size_t>(block.height), static_cast<std::size_t>(block.width));
}

}  // namespace

HostField gather_field(const ExecutionSpace& exec, Communicator& communicator, const ProcessGrid& grid,
                       const Field& field, std::int64_t halo) {
  const Decomposition& decomposition = grid.decomposition();
  const std::vector<Piece> pieces = pieces_of(decomposition);
  const auto elements =
      static_cast<std::int64_t>((pieces.back().offset_bytes + pieces.back().bytes) / sizeof(double));
  const Vector<double> buffer = allocate<double>(exec, "kadam-insitu::gathered", elements);
  copy_cells(exec, grid.block(), field, halo,
             field_at(buffer, pieces[static_cast<std::size_t>(grid.rank())], grid.block()), 0);
  communicator.all_gather(exec, Traffic::control, bytes_of(buffer), pieces);
  exec.fence("kadam-insitu: field is gathered");
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, buffer);
  const HostField whole("kadam-insitu::whole_field", static_cast<std::size_t>(species),
                        static_cast<std::size_t>(decomposition.height()),
                        static_cast<std::size_t>(decomposition.width()));
  std::size_t next = 0;
  for (int rank = 0; rank < decomposition.ranks(); ++rank) {
    const Block block = decomposition.block(rank);
    for (std::int64_t s = 0; s < species; ++s) {
      for (std::int64_t y = block.y; y < block.y + block.height; ++y) {
        for (std::int64_t x = block.x; x < block.x + block.width; ++x) whole(s, y, x) = host(next++);
      }
    }
  }
  return whole;
}

}  // namespace kadam::insitu
