// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/gray_scott.hpp>
#include <workloads/random.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kadam::insitu {
namespace {

constexpr std::int64_t spot_side = 8;

/// Distance from `begin` to `x`, going up around the grid.
std::int64_t distance_up(std::int64_t begin, std::int64_t x, std::int64_t extent) {
  return (x - begin + extent) % extent;
}

}  // namespace

void GrayScottOptions::describe(OptionFields& fields) {
  fields.add("solver.width", width, "cells in a row of the periodic grid");
  fields.add("solver.height", height, "cells in a column");
  fields.add("solver.feed", feed, "F: rate at which u is fed, per unit of time");
  fields.add("solver.kill", kill, "k: rate at which v is removed beside F, per unit of time");
  fields.add("solver.diffusion_u", diffusion_u, "D_u, in units of length^2 per unit of time");
  fields.add("solver.diffusion_v", diffusion_v, "D_v, in the same units");
  fields.add("solver.spacing", spacing, "h: distance of neighbouring cells, in units of length");
  fields.add("solver.time_step", time_step,
             "of the solver, in units of time; at most h^2 / (4 max(D_u, D_v))");
  fields.add("solver.spots", spots, "squares of 8 x 8 cells with v in them at the start");
  fields.add("solver.noise", noise, "largest v outside the spots at the start");
  fields.add("solver.spin_up", spin_up, "time steps before the first training step");
  fields.add("solver.seed", seed, "seed of the spots and of the noise");
}

double GrayScottOptions::largest_time_step() const {
  return spacing * spacing / (4.0 * std::max(diffusion_u, diffusion_v));
}

void GrayScottOptions::validate() const {
  const std::string owner = "solver";
  require_option(width > 0 && height > 0, owner, "'width', 'height': expected 1 cell or more");
  require_option(feed >= 0.0 && kill >= 0.0, owner, "'feed', 'kill': expected 0 or more");
  require_option(diffusion_u >= 0.0 && diffusion_v >= 0.0, owner,
                 "'diffusion_u', 'diffusion_v': expected 0 or more");
  require_option(spacing > 0.0, owner, "'spacing': expected more than 0");
  require_option(time_step > 0.0, owner, "'time_step': expected more than 0");
  require_option(
      time_step <= largest_time_step(), owner,
      fmt::format("'time_step': {} is not stable with this spacing and diffusion: expected at most {:.4g}",
                  time_step, largest_time_step()));
  require_option(spots >= 0, owner, "'spots': expected 0 or more");
  require_option(noise >= 0.0 && noise <= 1.0, owner, "'noise': expected 0 to 1");
  require_option(spin_up >= 0, owner, "'spin_up': expected 0 or more time steps");
  require_option(seed >= 0, owner, "'seed': expected 0 or more");
}

InitialState spots_and_noise(const GrayScottOptions& options) {
  struct Corner {
    std::int64_t x;
    std::int64_t y;
  };
  const auto seed = static_cast<std::uint64_t>(options.seed);
  std::vector<Corner> corners;
  std::uint64_t counter = 0;
  for (std::int64_t k = 0; k < options.spots; ++k) {
    const std::uint64_t x =
        workloads::random_below(2 * seed, counter, static_cast<std::uint64_t>(options.width));
    const std::uint64_t y =
        workloads::random_below(2 * seed, counter, static_cast<std::uint64_t>(options.height));
    corners.push_back({static_cast<std::int64_t>(x), static_cast<std::int64_t>(y)});
  }
  return [=](std::int64_t x, std::int64_t y) -> Concentrations {
    for (const Corner& corner : corners) {
      if (distance_up(corner.x, x, options.width) < spot_side &&
          distance_up(corner.y, y, options.height) < spot_side) {
        return {0.5, 0.25};
      }
    }
    const std::uint64_t bits =
        workloads::random_bits(2 * seed + 1, static_cast<std::uint64_t>(y * options.width + x));
    return {1.0, options.noise * static_cast<double>(bits >> 11U) * 0x1p-53};
  };
}

}  // namespace kadam::insitu
