// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdexcept>
#include <workloads/cifar10.hpp>
#include <workloads/idx.hpp>
#include <workloads/make_dataset.hpp>

namespace kadam::workloads {

void DataOptions::validate() const {
  if (kind != "idx" && kind != "cifar10" && kind != "text") {
    throw std::invalid_argument("kadam::workloads::DataOptions: kind '" + kind +
                                "' is not known: use idx, cifar10 or text");
  }
  if (kind != "idx" && path.empty()) {
    throw std::invalid_argument("kadam::workloads::DataOptions: kind '" + kind + "' needs a path: " +
                                (kind == "text" ? "a file" : "the folder of data_batch_1.bin"));
  }
  if (kind == "text") {
    text.validate();
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
  return std::make_unique<ImageDataset>(
      read_idx_dataset(options.path.empty() ? default_idx_folder : options.path));
}

}  // namespace kadam::workloads
