// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/layers/convolution.hpp>
#include <workloads/layers/linear.hpp>
#include <workloads/model.hpp>
#include <workloads/network.hpp>

#include <cstdint>

namespace kadam::workloads {

struct CnnOptions {
  std::int64_t first_channels = 16;   ///< outputs of the first convolution
  std::int64_t second_channels = 32;  ///< outputs of the second

  /// Errors: std::invalid_argument with the value and what would be right.
  void validate() const;
};

/// Image -> [3 x 3 convolution, ReLU, 2 x 2 max-pooling] twice -> linear -> classes.
/// Worked number: 1 x 28 x 28 pixels, channels 16 and 32, 10 classes have d = 20,490.
class Cnn final : public Network {
 public:
  Cnn(const CnnOptions& options, const DataShape& shape)
      : Cnn((options.validate(), options), shape, TensorLayoutBuilder()) {}

  /// W of each layer normal with deviation √(2 / inputs of one output) (He et al. 2015), b zero.
  void initialise(const HostVector<float>& parameters, std::uint64_t seed) const override;

 protected:
  void check(const Batch& batch) const override;
  void carve(Arena& arena, std::int64_t examples) override;
  Matrix<float> forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                        const Batch& batch) override;
  void backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch,
                const Matrix<float>& dlogits, const GradientSink& gradient) override;

 private:
  Cnn(const CnnOptions& options, const DataShape& shape, TensorLayoutBuilder builder);

  /// One convolution with its pooling: activations, and gradients of the same shapes.
  struct Stage {
    ImageShape shape;
    Matrix<float> columns, output, doutput, small, dsmall;
  };
  static Stage carve_stage(Arena& arena, const ImageShape& shape, std::int64_t inputs, std::int64_t outputs);
  [[nodiscard]] Matrix<float> flattened(const Matrix<float>& pooled_pixels) const;

  CnnOptions options_;
  DataShape data_;
  Convolution first_;
  Convolution second_;
  Linear output_;

  Matrix<float> pixels_, dcolumns_, logits_;
  Stage first_stage_, second_stage_;
};

}  // namespace kadam::workloads
