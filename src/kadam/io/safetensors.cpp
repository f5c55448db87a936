// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/host_file.hpp>
#include <kadam/io/safetensors.hpp>
#include <kadam/io/tensor_file.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace kadam::io {
namespace {

void require_size(const char* who, const TensorLayout& tensors, std::size_t values) {
  if (values != static_cast<std::size_t>(tensors.elements())) {
    throw std::invalid_argument("kadam::io::" + std::string(who) + ": expected a value for each of the " +
                                std::to_string(tensors.elements()) + " elements of the tensors, got " +
                                std::to_string(values) + " values");
  }
}

}  // namespace

std::vector<StoredTensor> stored_tensors(const TensorLayout& tensors) {
  std::vector<StoredTensor> stored;
  stored.reserve(tensors.tensors().size());
  for (const Tensor& tensor : tensors.tensors()) {
    stored.push_back({tensor.name, TensorType::f32, tensor.elements()});
  }
  return stored;
}

void write_safetensors(const std::filesystem::path& path, const TensorLayout& tensors,
                       std::span<const float> values, const Metadata& metadata) {
  require_size("write_safetensors", tensors, values.size());
  TensorFileWriter file(path, stored_tensors(tensors), metadata);
  file.write(std::as_bytes(values));
  file.commit();
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  detail::HostFileReader file(path);
  detail::SafetensorsHeader header = detail::read_safetensors_header(file);
  TensorLayoutBuilder builder;
  for (const StoredTensor& tensor : header.tensors) {
    if (tensor.type != TensorType::f32) file.fail(8, "tensor '" + tensor.name + "' to have dtype F32");
    builder.add(tensor.name, tensor.elements);
  }
  Safetensors result{builder.build(), {}, std::move(header.metadata)};
  result.values.resize(static_cast<std::size_t>(result.tensors.elements()));
  file.read(std::as_writable_bytes(std::span(result.values)), "tensors");
  return result;
}

Metadata read_safetensors(const std::filesystem::path& path, const TensorLayout& tensors,
                          std::span<float> values) {
  require_size("read_safetensors", tensors, values.size());
  const Safetensors file = read_safetensors(path);
  std::map<std::string, Tensor> stored;
  for (const Tensor& tensor : file.tensors.tensors()) {
    stored[tensor.name] = tensor;
  }
  for (const Tensor& tensor : tensors.tensors()) {
    const auto found = stored.find(tensor.name);
    if (found == stored.end() || found->second.elements() != tensor.elements()) {
      throw std::runtime_error(path.string() + ": at byte 8: expected a tensor '" + tensor.name + "' of " +
                               std::to_string(tensor.elements()) + " elements, found " +
                               (found == stored.end() ? "none" : std::to_string(found->second.elements())));
    }
    std::copy_n(file.values.begin() + found->second.begin, tensor.elements(), values.begin() + tensor.begin);
    stored.erase(found);
  }
  if (!stored.empty()) {
    throw std::runtime_error(path.string() + ": at byte 8: expected no tensor '" + stored.begin()->first +
                             "': the model has none of that name");
  }
  return file.metadata;
}

}  // namespace kadam::io
