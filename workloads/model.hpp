// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <workloads/parameters.hpp>

#include <cstdint>

namespace kadam::workloads {

/// Shape of one example: an image with one class or a class per patch, or a window of text.
struct DataShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t context = 0;  ///< tokens of a window; 0 for images
  std::int64_t classes = 0;  ///< classes of a prediction: of images, or byte values of a text
  std::int64_t masked = 0;   ///< text: tokens of a window to be guessed; 0: each token predicts the next
  std::int64_t patch = 0;    ///< images: side of the squares with a class each; 0: one class per image

  [[nodiscard]] bool is_text() const { return context > 0; }
  [[nodiscard]] std::int64_t pixels() const { return channels * height * width; }
  /// Number of different tokens in the input: the classes, and the mask if there is one.
  [[nodiscard]] std::int64_t vocabulary() const { return masked > 0 ? classes + 1 : classes; }
  /// Predictions per example. Worked number: 28 x 28 pixels in patches of 4 need 49.
  [[nodiscard]] std::int64_t predictions() const {
    if (is_text()) {
      return masked > 0 ? masked : context;
    }
    return patch > 0 ? (height / patch) * (width / patch) : 1;
  }
  friend bool operator==(const DataShape&, const DataShape&) = default;
};

/// Pinned host memory in which a batch is written before it is copied to a device; empty where kernels run on
/// the host.
struct BatchStaging {
  template <class T>
  using Pinned = Kokkos::View<T*, Kokkos::SharedHostPinnedSpace>;
  Pinned<float> images;
  Pinned<std::int32_t> tokens, positions, targets;
};

/// Inputs and targets of one pass of a model. Exactly one of `images` and `tokens` is filled.
struct Batch {
  std::int64_t examples = 0;
  /// Shape: [examples][channels][height][width], values in about [-1, 1].
  Vector<float> images;
  /// Shape: [examples][context]; values in [0, 256), 256 for a mask.
  Vector<std::int32_t> tokens;
  /// Masked text: [examples][masked], the indices in `tokens`, counted over the batch, that are to be
  /// guessed, ascending; else empty.
  Vector<std::int32_t> positions;
  /// Images: [examples] classes, or [examples][patches]. Text: [examples][context], the byte that follows
  /// each token; masked text: [examples][masked], the byte that belongs to each of `positions`.
  Vector<std::int32_t> targets;
  BatchStaging staging;
};

/// Sums over a batch, so that batches and ranks can be added before the division.
struct Evaluation {
  double loss_sum = 0.0;     ///< summed cross-entropy, nats
  std::int64_t correct = 0;  ///< predictions whose most likely class is the target
  std::int64_t count = 0;    ///< predictions: images, patches or text positions
};

/// A network whose parameters lie in one flat vector, with a hand-written backward pass on Kokkos.
class Model {
 public:
  virtual ~Model() = default;

  /// The tensors of the parameter vector, d elements in all.
  [[nodiscard]] virtual const TensorLayout& tensors() const = 0;

  /// Fills the initial parameters: a pure function of `seed`, the same on every rank and machine.
  virtual void initialise(const HostVector<float>& parameters, std::uint64_t seed) const = 0;

  /// Returns the mean loss over the batch, in nats; writes its derivative to `gradient`. Allocates nothing
  /// after the first call with a batch of the same size.
  ///
  /// `ready`, unless empty, is called during the backward pass with ranges from the back of the gradient to
  /// its front: the first ends at d, each next one ends where the one before begins, the last begins at 0.
  /// The elements of a range are final once all work enqueued on `exec` so far is done. Until this call
  /// returns they may be read, not written, and parameters must not change.
  virtual double loss_and_gradient(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                   const Batch& batch, const Vector<float>& gradient,
                                   const GradientReady& ready = nullptr) = 0;

  /// Runs the forward pass alone; returns sums over the batch.
  virtual Evaluation evaluate(const ExecutionSpace& exec, const Vector<const float>& parameters,
                              const Batch& batch) = 0;
};

}  // namespace kadam::workloads
