// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdexcept>
#include <workloads/blas_threads.hpp>
#include <workloads/make_model.hpp>

namespace kadam::workloads {
namespace {

std::unique_ptr<Model> make_transformer(TransformerOptions options, const DataShape& shape) {
  if (options.context == 0) {
    options.context = shape.context;
  }
  if (options.context != shape.context) {
    throw std::invalid_argument("kadam::workloads::make_model: the transformer's context is " +
                                std::to_string(options.context) + ", the data set's " +
                                std::to_string(shape.context) + ": make them equal, or the first 0");
  }
  if (options.vocabulary < shape.classes) {
    throw std::invalid_argument(
        "kadam::workloads::make_model: a vocabulary of " + std::to_string(options.vocabulary) +
        " for data with " + std::to_string(shape.classes) + " different tokens: make it at least as large");
  }
  return std::make_unique<Transformer>(options);
}

}  // namespace

void ModelOptions::validate() const {
  if (kind == "mlp") {
    mlp.validate();
  } else if (kind == "cnn") {
    cnn.validate();
  } else if (kind == "transformer") {
    transformer.validate();
  } else {
    throw std::invalid_argument("kadam::workloads::ModelOptions: kind '" + kind +
                                "' is not known: use mlp, cnn or transformer");
  }
}

std::unique_ptr<Model> make_model(const ModelOptions& options, const DataShape& shape) {
  options.validate();
  if (shape.is_text() != (options.kind == "transformer")) {
    throw std::invalid_argument("kadam::workloads::make_model: kind '" + options.kind + "' does not fit " +
                                (shape.is_text() ? "text: use transformer" : "images: use mlp or cnn"));
  }
  set_blas_threads(ExecutionSpace().concurrency());
  if (options.kind == "mlp") {
    return std::make_unique<Mlp>(options.mlp, shape.pixels(), shape.classes);
  }
  if (options.kind == "cnn") {
    return std::make_unique<Cnn>(options.cnn, shape);
  }
  return make_transformer(options.transformer, shape);
}

}  // namespace kadam::workloads
