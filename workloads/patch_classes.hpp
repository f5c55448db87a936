// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/data_shape.hpp>

#include <cstdint>

namespace kadam::workloads {

/// Segmentation labels made from images that have none: class 0 for a patch without a pixel above
/// `foreground_above`, else 1 + `label`, the class of the whole image. `out` gets shape.patch-sized patches
/// line by line; pixels are [channels][height][width].
///
/// Where the foreground is can be read off the pixels of a patch alone. What it belongs to cannot: a piece of
/// cloth is a piece of cloth, so a model has to look at the other patches. Meant for one thing on a dark
/// ground, as in MNIST and its relatives. In Fashion-MNIST 38 % of the patches of 4 x 4 are background.
///
/// Worked number: a patch of 4 x 4 in which one pixel is 32 belongs to the foreground.
inline constexpr std::uint8_t foreground_above = 31;
void patch_classes(const std::uint8_t* image, std::uint8_t label, const DataShape& shape, std::int32_t* out);

}  // namespace kadam::workloads
