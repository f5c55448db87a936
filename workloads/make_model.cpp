// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/blas_threads.hpp>
#include <workloads/make_model.hpp>

#include <stdexcept>

namespace kadam::workloads {
namespace {

/// What to use instead of a kind that does not fit.
std::string kinds_for(const DataShape& shape) {
  if (shape.is_text()) {
    return "text: use transformer";
  }
  return shape.patch > 0 ? "images with a class per patch: use vit" : "images: use mlp, cnn or vit";
}

bool fits(const std::string& kind, const DataShape& shape) {
  return shape.is_text() == (kind == "transformer") && (shape.patch == 0 || kind == "vit");
}

}  // namespace

void ModelOptions::validate() const {
  if (kind == "mlp") {
    mlp.validate();
  } else if (kind == "cnn") {
    cnn.validate();
  } else if (kind == "transformer") {
    transformer.validate();
  } else if (kind == "vit") {
    transformer.validate();
    vit.validate();
  } else {
    throw std::invalid_argument("kadam::workloads::ModelOptions: kind '" + kind +
                                "' is not known: use mlp, cnn, vit or transformer");
  }
}

std::unique_ptr<Model> make_model(const ModelOptions& options, const DataShape& shape) {
  options.validate();
  if (!fits(options.kind, shape)) {
    throw std::invalid_argument("kadam::workloads::make_model: kind '" + options.kind + "' does not fit " +
                                kinds_for(shape));
  }
  set_blas_threads(ExecutionSpace().concurrency());
  if (options.kind == "mlp") {
    return std::make_unique<Mlp>(options.mlp, shape.pixels(), shape.classes);
  }
  if (options.kind == "cnn") {
    return std::make_unique<Cnn>(options.cnn, shape);
  }
  if (options.kind == "vit") {
    return std::make_unique<Vit>(options.vit, options.transformer, shape);
  }
  return std::make_unique<Transformer>(options.transformer, shape);
}

}  // namespace kadam::workloads
