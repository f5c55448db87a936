// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/cnn.hpp>
#include <workloads/mlp.hpp>
#include <workloads/model.hpp>
#include <workloads/transformer.hpp>
#include <workloads/vit.hpp>

#include <memory>
#include <string>

namespace kadam::workloads {

/// Kind of a model, and the options of every kind; only those of `kind` are used.
struct ModelOptions {
  std::string kind = "mlp";  ///< mlp, cnn or vit for images, transformer for text
  MlpOptions mlp;
  CnnOptions cnn;
  TransformerOptions transformer;  ///< the blocks of transformer and vit
  VitOptions vit;

  /// Errors: std::invalid_argument for an unknown kind, or options of that kind that are out of range.
  void validate() const;
};

/// Makes a model for examples of this shape. Also keeps OpenBLAS within the threads of the default execution
/// space, for the whole process; see set_blas_threads() in make_model.cpp.
///
/// Errors: std::invalid_argument when the options are not valid or the kind does not fit the data.
/// Worked number: `make_model({}, {.channels = 1, .height = 28, .width = 28, .classes = 10})` has d = 55,050.
[[nodiscard]] std::unique_ptr<Model> make_model(const ModelOptions& options, const DataShape& shape);

}  // namespace kadam::workloads
