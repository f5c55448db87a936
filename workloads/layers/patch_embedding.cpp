// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/patch_embedding.hpp>
#include <workloads/layers/row.hpp>

#include <cmath>

namespace kadam::workloads {
namespace {

/// One row kernel per patch; of its lines each is one piece of memory.
void cut_into_patches(const ExecutionSpace& exec, const PatchGrid& grid, const float* images,
                      const Matrix<float>& patches) {
  Kokkos::parallel_for(
      "kadam::workloads::cut_into_patches", row_policy(exec, rows_of(patches)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t rank = member.league_rank();
        const std::int64_t image = rank / grid.patches();
        const std::int64_t place = rank % grid.patches();
        const std::int64_t top = place / grid.across() * grid.patch;
        const std::int64_t left = place % grid.across() * grid.patch;
        const float* const corner = images + (image * grid.channels * grid.height + top) * grid.width + left;
        float* const out = patches.data() + rank * grid.patch_pixels();
        row_for(member, grid.channels * grid.patch, [&](std::int64_t line) {
          const std::int64_t below = line / grid.patch * grid.height + line % grid.patch;
          for (std::int64_t i = 0; i < grid.patch; ++i) {
            out[line * grid.patch + i] = corner[below * grid.width + i];
          }
        });
      });
}

}  // namespace

void PatchEmbedding::initialise(const Initialiser& initialiser) const {
  projection_.initialise(initialiser, 1.0 / std::sqrt(static_cast<double>(grid_.patch_pixels())));
}

void PatchEmbedding::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                             const Vector<const float>& images, const Matrix<float>& patches,
                             const Matrix<float>& y) const {
  cut_into_patches(exec, grid_, images.data(), patches);
  projection_.forward(exec, parameters, patches, y);
}

}  // namespace kadam::workloads
