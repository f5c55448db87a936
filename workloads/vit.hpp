// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/embeddings.hpp>
#include <workloads/model.hpp>
#include <workloads/network.hpp>
#include <workloads/transformer_encoder.hpp>

#include <cstdint>

namespace kadam::workloads {

struct VitOptions {
  std::int64_t patch = 4;  ///< side of the squares that an image is cut into; divides height and width

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// A vision transformer (Dosovitskiy et al. 2020): patches, a linear embedding with learned positions,
/// pre-norm blocks with attention in both directions. DataShape::patch decides what it predicts:
/// - 0: one class per image, from the mean over all patches. Unlike a class token the mean adds no
///   50th position to 49 patches, and it learns at least as fast (Beyer, Zhai, Kolesnikov 2022). It comes
///   before the last layer norm (He et al. 2021), which then has one row per image;
/// - above 0: one class per patch (segmentation), each from its own position.
///
/// d = (c p² + 1 + patches) w + depth (12 w² + 13 w) + 2 w + classes (w + 1) for width w, c channels and
/// patches of p x p. Worked number: 1 x 28 x 28 pixels, patch 4, width 64, depth 2, 10 classes have
/// d = 104,970.
class Vit final : public Network {
 public:
  Vit(const VitOptions& options, const TransformerOptions& blocks, const DataShape& shape)
      : Vit((blocks.validate(), blocks), shape, grid_for(options, shape), TensorLayoutBuilder()) {}

  void initialise(const HostVector<float>& parameters, std::uint64_t seed) const override;

 protected:
  void check(const Batch& batch) const override;
  void carve(Arena& arena, std::int64_t examples) override;
  Matrix<float> forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                        const Batch& batch) override;
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch,
                const Matrix<float>& dlogits, const GradientSink& gradient) override;

 private:
  Vit(const TransformerOptions& blocks, const DataShape& shape, const PatchGrid& grid,
      TensorLayoutBuilder builder);
  static PatchGrid grid_for(const VitOptions& options, const DataShape& shape);

  [[nodiscard]] bool is_segmentation() const { return data_.patch > 0; }

  std::int64_t width_;
  DataShape data_;
  PatchGrid grid_;
  PatchEmbedding patches_;
  PositionEmbedding positions_;
  TransformerEncoder encoder_;
  TransformerHead head_;
  Matrix<float> patch_pixels_, pooled_, dpooled_;
};

}  // namespace kadam::workloads
