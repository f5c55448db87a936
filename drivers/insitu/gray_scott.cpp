// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/gray_scott.hpp>

namespace kadam::insitu {
namespace {

using InnerCells = Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;

/// The cells of a block in a field with a halo of one.
InnerCells inner_cells(const ExecutionSpace& exec, const Block& block) {
  return InnerCells(exec, {std::int64_t{1}, std::int64_t{1}}, {block.height + 1, block.width + 1});
}

/// One step of Euler's method in a cell.
struct EulerStep {
  double feed;
  double decay;        ///< F + k
  double diffusion_u;  ///< D_u / h^2
  double diffusion_v;
  double time_step;

  explicit EulerStep(const GrayScottOptions& options)
      : feed(options.feed),
        decay(options.feed + options.kill),
        diffusion_u(options.diffusion_u / (options.spacing * options.spacing)),
        diffusion_v(options.diffusion_v / (options.spacing * options.spacing)),
        time_step(options.time_step) {}

  /// Pairs are added first: a mirrored field has a mirrored result, bit by bit.
  KOKKOS_INLINE_FUNCTION static double neighbours(const Field& field, int s, std::int64_t y, std::int64_t x) {
    return (field(s, y, x - 1) + field(s, y, x + 1)) + (field(s, y - 1, x) + field(s, y + 1, x));
  }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION Concentrations operator()(const Field& field, std::int64_t y,
                                                                 std::int64_t x) const {
    const double u = field(0, y, x);
    const double v = field(1, y, x);
    const double reaction = u * v * v;
    const double of_u = diffusion_u * (neighbours(field, 0, y, x) - 4.0 * u) - reaction + feed * (1.0 - u);
    const double of_v = diffusion_v * (neighbours(field, 1, y, x) - 4.0 * v) + reaction - decay * v;
    return {u + time_step * of_u, v + time_step * of_v};
  }
};

/// Heun's method is the mean of where it starts and of where two Euler steps end.
void take_euler_step(const ExecutionSpace& exec, const Block& block, const EulerStep& euler,
                     const Field& from, const Field& to) {
  Kokkos::parallel_for(
      "kadam-insitu::euler_step", inner_cells(exec, block), KOKKOS_LAMBDA(std::int64_t y, std::int64_t x) {
        const Concentrations next = euler(from, y, x);
        to(0, y, x) = next.u;
        to(1, y, x) = next.v;
      });
}

void take_mean_with_euler_step(const ExecutionSpace& exec, const Block& block, const EulerStep& euler,
                               const Field& from, const Field& to) {
  Kokkos::parallel_for(
      "kadam-insitu::mean_with_euler_step", inner_cells(exec, block),
      KOKKOS_LAMBDA(std::int64_t y, std::int64_t x) {
        const Concentrations next = euler(from, y, x);
        to(0, y, x) = 0.5 * (to(0, y, x) + next.u);
        to(1, y, x) = 0.5 * (to(1, y, x) + next.v);
      });
}

}  // namespace

void copy_cells(const ExecutionSpace& exec, const Block& block, const Field& from, std::int64_t from_halo,
                const Field& to, std::int64_t to_halo) {
  Kokkos::parallel_for(
      "kadam-insitu::copy_cells",
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<3>, Kokkos::IndexType<std::int64_t>>(
          exec, {std::int64_t{0}, std::int64_t{0}, std::int64_t{0}},
          {std::int64_t{species}, block.height, block.width}),
      KOKKOS_LAMBDA(std::int64_t s, std::int64_t y, std::int64_t x) {
        to(s, y + to_halo, x + to_halo) = from(s, y + from_halo, x + from_halo);
      });
}

GrayScott::GrayScott(const ExecutionSpace& exec, const GrayScottOptions& options, const ProcessGrid& grid)
    : options_((options.validate(), options)),
      block_(grid.block()),
      exchange_(exec, grid, halo()),
      field_(make_field(exec, "kadam-insitu::field", block_, halo())),
      stage_(make_field(exec, "kadam-insitu::stage", block_, halo())) {}

void GrayScott::start_from(const ExecutionSpace& exec, const InitialState& initial) {
  const auto host = Kokkos::create_mirror_view(field_);
  for (std::int64_t y = 0; y < block_.height; ++y) {
    for (std::int64_t x = 0; x < block_.width; ++x) {
      const Concentrations cell = initial(block_.x + x, block_.y + y);
      host(0, y + halo(), x + halo()) = cell.u;
      host(1, y + halo(), x + halo()) = cell.v;
    }
  }
  Kokkos::deep_copy(exec, field_, host);
  exec.fence("kadam-insitu: initial state");
  steps_ = 0;
}

void GrayScott::advance(const ExecutionSpace& exec, std::int64_t time_steps) {
  const EulerStep euler(options_);
  for (std::int64_t k = 0; k < time_steps; ++k) {
    exchange_(exec, field_);
    take_euler_step(exec, block_, euler, field_, stage_);
    exchange_(exec, stage_);
    take_mean_with_euler_step(exec, block_, euler, stage_, field_);
    ++steps_;
  }
}

}  // namespace kadam::insitu
