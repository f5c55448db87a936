// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/halo_exchange.hpp>

namespace kadam::insitu {
namespace {

using Strip = HaloExchange::Strip;
using StripCells = Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<3>, Kokkos::IndexType<std::int64_t>>;

/// The strips of both sides, equally large, one kernel for both.
struct TwoStrips {
  Strip strips[2];
  Vector<double> buffers[2];

  [[nodiscard]] StripCells cells(const ExecutionSpace& exec) const {
    return StripCells(exec, {std::int64_t{0}, std::int64_t{0}, std::int64_t{0}},
                      {std::int64_t{2} * species, strips[0].height, strips[0].width});
  }
  /// k counts species, first those of the lower side.
  KOKKOS_INLINE_FUNCTION double& in_buffer(std::int64_t k, std::int64_t y, std::int64_t x) const {
    const std::int64_t side = k / species;
    const Strip& strip = strips[side];
    return buffers[side]((k % species * strip.height + y) * strip.width + x);
  }
  KOKKOS_INLINE_FUNCTION double& in_field(const Field& field, std::int64_t k, std::int64_t y,
                                          std::int64_t x) const {
    const Strip& strip = strips[k / species];
    return field(k % species, strip.y + y, strip.x + x);
  }
};

void pack(const ExecutionSpace& exec, const Field& field, const TwoStrips& two) {
  Kokkos::parallel_for(
      "kadam-insitu::pack_halo", two.cells(exec),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t y, std::int64_t x) {
        two.in_buffer(k, y, x) = two.in_field(field, k, y, x);
      });
}

void unpack(const ExecutionSpace& exec, const TwoStrips& two, const Field& field) {
  Kokkos::parallel_for(
      "kadam-insitu::unpack_halo", two.cells(exec),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t y, std::int64_t x) {
        two.in_field(field, k, y, x) = two.in_buffer(k, y, x);
      });
}

/// The rows of the first axis end where the block does; the second one's are as long as the field.
Strip strip_at(Axis axis, std::int64_t first, std::int64_t halo, const Block& block) {
  return axis == Axis::x ? Strip{first, halo, halo, block.height}
                         : Strip{0, first, block.width + 2 * halo, halo};
}

template <class View>
std::byte* bytes_at(const View& view) {
  return reinterpret_cast<std::byte*>(view.data());
}

}  // namespace

HaloExchange::HaloExchange(const ExecutionSpace& exec, const ProcessGrid& grid, std::int64_t halo)
    : halo_(halo),
      staged_(grid.stages_through_host()),
      directions_{make_direction(exec, grid, Axis::x), make_direction(exec, grid, Axis::y)} {}

HaloExchange::Direction HaloExchange::make_direction(const ExecutionSpace& exec, const ProcessGrid& grid,
                                                     Axis axis) const {
  const Block block = grid.block();
  const std::int64_t extent = axis == Axis::x ? block.width : block.height;
  Direction direction;
  auto& [lower, upper] = direction.sides;
  lower.outer = strip_at(axis, 0, halo_, block);
  lower.inner = strip_at(axis, halo_, halo_, block);
  upper.inner = strip_at(axis, extent, halo_, block);
  upper.outer = strip_at(axis, extent + halo_, halo_, block);
  const std::int64_t elements = species * lower.outer.width * lower.outer.height;
  for (Side& side : direction.sides) side.to = allocate<double>(exec, "kadam-insitu::halo_to_send", elements);
  if (grid.is_own_neighbour(axis)) {
    lower.from = upper.to;
    upper.from = lower.to;
    return direction;
  }
  NeighbourBuffers buffers;
  buffers.bytes = static_cast<std::size_t>(elements) * sizeof(double);
  for (std::size_t k = 0; k < direction.sides.size(); ++k) {
    Side& side = direction.sides[k];
    side.from = allocate<double>(exec, "kadam-insitu::halo_received", elements);
    if (staged_) {
      side.host_to = HostBuffer("kadam-insitu::halo_to_send_on_host", side.to.extent(0));
      side.host_from = HostBuffer("kadam-insitu::halo_received_on_host", side.from.extent(0));
    }
    buffers.to[k] = staged_ ? bytes_at(side.host_to) : bytes_at(side.to);
    buffers.from[k] = staged_ ? bytes_at(side.host_from) : bytes_at(side.from);
  }
  direction.messages = grid.messages(axis, buffers);
  return direction;
}

void HaloExchange::operator()(const ExecutionSpace& exec, const Field& field) {
  for (Direction& direction : directions_) exchange(exec, field, direction);
}

void HaloExchange::exchange(const ExecutionSpace& exec, const Field& field, Direction& direction) const {
  const auto& [lower, upper] = direction.sides;
  const bool sends = direction.messages != nullptr;
  pack(exec, field, {{lower.inner, upper.inner}, {lower.to, upper.to}});
  if (sends && staged_) {
    for (const Side& side : direction.sides) Kokkos::deep_copy(exec, side.host_to, side.to);
  }
  if (sends) {
    exec.fence("kadam-insitu: halos are packed");
    direction.messages->start();
    direction.messages->wait();
  }
  if (sends && staged_) {
    for (const Side& side : direction.sides) Kokkos::deep_copy(exec, side.from, side.host_from);
  }
  unpack(exec, {{lower.outer, upper.outer}, {lower.from, upper.from}}, field);
}

std::size_t HaloExchange::bytes_sent() const {
  std::size_t bytes = 0;
  for (const Direction& direction : directions_) {
    if (direction.messages == nullptr) continue;
    for (const Side& side : direction.sides) bytes += side.to.size() * sizeof(double);
  }
  return bytes;
}

}  // namespace kadam::insitu
