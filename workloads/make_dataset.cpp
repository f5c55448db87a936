// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/image_files.hpp>
#include <workloads/make_dataset.hpp>

#include <cmath>
#include <stdexcept>

namespace kadam::workloads {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::invalid_argument("kadam::workloads::DataOptions: " + sentence);
}

std::unique_ptr<Dataset> make_idx_dataset(const DataOptions& options) {
  auto data = std::make_unique<ImageDataset>(
      read_idx_dataset(options.path.empty() ? default_idx_folder : options.path));
  if (options.task == "segment") {
    data->segment(options.patch);
  }
  return data;
}

}  // namespace

void DataOptions::validate() const {
  if (kind != "idx" && kind != "cifar10" && kind != "text") {
    refuse("kind '" + kind + "' is not known: use idx, cifar10 or text");
  }
  if (kind != "idx" && path.empty()) {
    refuse("kind '" + kind +
           "' needs a path: " + (kind == "text" ? "a file" : "the folder of data_batch_1.bin"));
  }
  if (kind == "text") {
    text.validate();
  }
  if (task != "classify" && task != "segment") {
    refuse("task '" + task + "' is not known: use classify or segment");
  }
  if (task == "segment" && kind != "idx") {
    refuse("task 'segment' takes pixels that are not black as the foreground, so it needs kind 'idx', not '" +
           kind + "'");
  }
  if (!(std::isfinite(dirichlet_alpha) && dirichlet_alpha >= 0.0)) {
    refuse("dirichlet_alpha is " + std::to_string(dirichlet_alpha) + ", expected 0 or more");
  }
  if (dirichlet_alpha > 0.0 && kind == "text") {
    refuse("dirichlet_alpha deals out the examples of each class, but text has no classes: leave it at 0");
  }
}

std::unique_ptr<Dataset> make_dataset(const DataOptions& options) {
  options.validate();
  if (options.kind == "text") {
    return std::make_unique<TextDataset>(options.path, options.text);
  }
  if (options.kind == "cifar10") {
    return std::make_unique<ImageDataset>(read_cifar10_dataset(options.path));
  }
  return make_idx_dataset(options);
}

}  // namespace kadam::workloads
