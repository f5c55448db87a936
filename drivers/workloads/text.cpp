// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdexcept>
#include <workloads/batch_fill.hpp>
#include <workloads/byte_file.hpp>
#include <workloads/text.hpp>

namespace kadam::workloads {

void TextOptions::validate() const {
  if (context < 1) {
    throw std::invalid_argument("kadam::workloads::TextOptions: context is " + std::to_string(context) +
                                ", expected at least 1 byte");
  }
  if (!(held_out_fraction >= 0.0 && held_out_fraction < 1.0)) {
    throw std::invalid_argument("kadam::workloads::TextOptions: held_out_fraction is " +
                                std::to_string(held_out_fraction) + ", expected 0 or more and less than 1");
  }
}

TextDataset::TextDataset(const std::filesystem::path& path, const TextOptions& options)
    : name_(path.string()), options_(options) {
  options.validate();
  bytes_ = ByteFile(path).read_rest();
  const auto size = static_cast<std::int64_t>(bytes_.size());
  const auto held_out = static_cast<std::int64_t>(options.held_out_fraction * static_cast<double>(size));
  training_bytes_ = size - held_out;
  if (training_examples() < 1 || (options.held_out_fraction > 0.0 && held_out_examples() < 1)) {
    throw std::runtime_error(name_ + ": at byte " + std::to_string(size) +
                             ": expected at least context + 1 = " + std::to_string(options.context + 1) +
                             " bytes to train on and as many held out, found the end of the file");
  }
}

std::string TextDataset::description() const {
  return name_ + ": " + std::to_string(bytes_.size()) + " bytes, " + std::to_string(training_examples()) +
         " training and " + std::to_string(held_out_examples()) + " held-out windows of " +
         std::to_string(options_.context);
}

DataShape TextDataset::shape() const {
  DataShape shape;
  shape.context = options_.context;
  shape.classes = 256;
  return shape;
}

void TextDataset::gather(const ExecutionSpace& exec, const std::uint8_t* part,
                         std::span<const std::int64_t> indices, Batch& batch) const {
  batch.examples = static_cast<std::int64_t>(indices.size());
  batch.images = {};
  const std::int64_t context = options_.context;
  const auto copy_windows = [&](std::int64_t shift) {
    return [=](const auto& host) {
      std::int32_t* out = host.data();
      for (const std::int64_t index : indices) {
        for (std::int64_t i = 0; i < context; ++i) {
          *out++ = part[index * context + i + shift];
        }
      }
    };
  };
  const std::size_t elements = indices.size() * static_cast<std::size_t>(context);
  fill_from_host(exec, "kadam::workloads::tokens", elements, batch.tokens, copy_windows(0));
  fill_from_host(exec, "kadam::workloads::next_tokens", elements, batch.targets, copy_windows(1));
}

void TextDataset::training_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                                 Batch& batch) const {
  require_indices("training", indices, training_examples());
  gather(exec, bytes_.data(), indices, batch);
}

void TextDataset::held_out_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                                 Batch& batch) const {
  require_indices("held-out", indices, held_out_examples());
  gather(exec, bytes_.data() + training_bytes_, indices, batch);
}

}  // namespace kadam::workloads
