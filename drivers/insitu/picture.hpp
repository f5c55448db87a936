// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/field.hpp>

#include <filesystem>

namespace kadam::insitu {

/// The whole grid at one unseen time.
struct UnseenTime {
  HostField truth;       ///< what the solver computed
  HostField prediction;  ///< what the surrogate made of the state at the end of training
  double time = 0.0;
  double trained_until = 0.0;
  double error = 0.0;      ///< relative
  double unchanged = 0.0;  ///< the error of the state at the end of training
  double spacing = 1.0;    ///< of cells
};

/// Writes truth.npy, prediction.npy and difference.npy, float32 [species][y][x], and draws unseen.png from
/// them by gnuplot: v of both in the same colours, and their difference. Its script stays beside it. False
/// where there is no gnuplot. Errors: std::runtime_error when a file cannot be written.
[[nodiscard]] bool write_picture(const std::filesystem::path& folder, const UnseenTime& unseen);

}  // namespace kadam::insitu
