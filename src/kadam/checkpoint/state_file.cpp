// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/number_text.hpp>
#include <kadam/checkpoint/state_file.hpp>
#include <kadam/optim/optimizer.hpp>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace kadam::checkpoint {
namespace {

/// What this rank writes of a vector, and where it lies in the View that the rank has of it.
Placement written_part(const Placement& placement) {
  const std::int64_t first = placement.range.begin;
  const ElementRange own = ChunkLayout(placement.range.elements(), placement.holders).chunk(placement.holder);
  Placement part = placement;
  part.range = {first + own.begin, first + own.end};
  return part;
}

template <class T>
void write_part(const ExecutionSpace& exec, io::TensorFileWriter& file, const Vector<T>& values,
                const Placement& placement, const Placement& part) {
  const std::int64_t first = part.range.begin - placement.range.begin;
  const auto own = Kokkos::subview(values, Kokkos::make_pair(first, first + part.range.elements()));
  const auto host = Kokkos::create_mirror_view(own);
  Kokkos::deep_copy(exec, host, own);
  exec.fence("kadam::checkpoint::write_part");
  file.write(std::as_bytes(std::span(host.data(), host.size())));
}

}  // namespace

Arrangement Arrangement::of(const Optimizer& optimizer) {
  Arrangement arrangement;
  const Communicator& communicator = optimizer.communicator();
  arrangement.ranks = communicator.size();
  arrangement.ranks_per_node = communicator.has_two_levels() ? communicator.node().size() : 1;
  for (const auto& [name, value] : optimizer.options()) {
    arrangement.options += name + " = " + kadam::to_text(value) + "\n";
  }
  // Which elements a message holds is up to them as well.
  const std::string groups = optimizer.groups_text();
  if (!groups.empty()) arrangement.options += "groups = " + groups + "\n";
  return arrangement;
}

std::string state_file_name(int rank, int ranks) {
  return "state-" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".safetensors";
}

io::Metadata identity_of(const Optimizer& optimizer) {
  const Arrangement arrangement = Arrangement::of(optimizer);
  return {{"format", "kadam state " + std::to_string(format_version)},
          {"optimizer", optimizer.name()},
          {"rank", std::to_string(optimizer.communicator().rank())},
          {"ranks", std::to_string(arrangement.ranks)},
          {"ranks_per_node", std::to_string(arrangement.ranks_per_node)},
          {"options", arrangement.options},
          {"elements", std::to_string(optimizer.layout().elements())},
          {"tensors", std::to_string(hash_of(optimizer.layout()))}};
}

std::vector<StateVector> saved_vectors(const StateFields& state) {
  std::vector<StateVector> vectors = state.vectors();
  std::erase_if(vectors,
                [](const StateVector& field) { return field.if_missing == StateVector::IfMissing::add; });
  if (state.common_parameters()) vectors.push_back(*state.common_parameters());
  return vectors;
}

ManifestFile write_state_file(const ExecutionSpace& exec, const std::filesystem::path& folder,
                              const Optimizer& optimizer, const StateFields& state,
                              const ProgramState& program) {
  const Communicator& communicator = optimizer.communicator();
  io::Metadata metadata = identity_of(optimizer);
  for (const StateNumber& number : state.numbers())
    metadata[number_prefix + number.name] = to_text(number.place);
  for (const auto& [key, words] : program) metadata[program_prefix + key] = words;

  const std::vector<StateVector> vectors = saved_vectors(state);
  std::vector<io::StoredTensor> tensors;
  const auto announce = [&](const std::string& name, io::TensorType type, const Placement& placement) {
    const Placement part = written_part(placement);
    tensors.push_back({name, type, part.range.elements()});
    metadata[place_prefix + name] = to_text(part);
  };
  for (const StateVector& field : vectors) announce(field.name, io::TensorType::f32, field.placement);
  for (const StateBytes& field : state.bytes()) announce(field.name, io::TensorType::u8, field.placement);

  const std::string name = state_file_name(communicator.rank(), communicator.size());
  io::TensorFileWriter file(folder / name, tensors, metadata);
  for (const StateVector& field : vectors) {
    write_part(exec, file, field.values, field.placement, written_part(field.placement));
  }
  for (const StateBytes& field : state.bytes()) {
    write_part(exec, file, field.bytes, field.placement, written_part(field.placement));
  }
  file.commit();
  io::detail::sync_to_disk(folder / name);
  return {name, file.bytes_written(), file.hash()};
}

StateFiles::StateFiles(const std::filesystem::path& folder, const Manifest& manifest,
                       const Optimizer& optimizer)
    : folder_(folder) {
  for (std::int64_t rank = 0; rank < manifest.ranks; ++rank) {
    const std::string name = state_file_name(static_cast<int>(rank), static_cast<int>(manifest.ranks));
    const auto found = std::find_if(manifest.files.begin(), manifest.files.end(),
                                    [&](const ManifestFile& file) { return file.name == name; });
    if (found == manifest.files.end()) {
      throw std::runtime_error((folder / manifest_name).string() + ": expected a file " + name + " of its " +
                               std::to_string(manifest.ranks) + " ranks, found none");
    }
    files_.push_back(*found);
  }
  for (std::size_t file = 0; file < files_.size(); ++file) take_header(file, optimizer);
}

std::filesystem::path StateFiles::path_of(std::size_t file) const {
  return folder_ / files_[file].name;
}

void StateFiles::take_header(std::size_t file, const Optimizer& optimizer) {
  const io::TensorFile tensors(path_of(file));
  if (file == 0) take_identity(tensors, optimizer);
  // The words of this rank, or of rank 0 where ranks are not the same.
  const Communicator& communicator = optimizer.communicator();
  const bool has_own = files_.size() == static_cast<std::size_t>(communicator.size());
  if (file == (has_own ? static_cast<std::size_t>(communicator.rank()) : 0)) take_program(tensors);
  for (const io::StoredTensor& tensor : tensors.tensors()) {
    const auto place = tensors.metadata().find(place_prefix + tensor.name);
    const auto placement = place == tensors.metadata().end() ? std::nullopt : placement_from(place->second);
    if (!placement || placement->range.elements() != tensor.elements) {
      throw std::runtime_error(tensors.path().string() + ": at byte 8: expected in the metadata where '" +
                               tensor.name + "' lies among the ranks, with its length");
    }
    parts_[tensor.name].push_back({file, *placement, tensor.type});
  }
}

void StateFiles::take_identity(const io::TensorFile& file, const Optimizer& optimizer) {
  const auto word = [&](const std::string& key) -> const std::string& {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end())
      throw std::runtime_error(file.path().string() + ": at byte 8: expected metadata with '" + key + "'");
    return found->second;
  };
  const std::string format = "kadam state " + std::to_string(format_version);
  if (word("format") != format) {
    throw std::runtime_error(file.path().string() + ": at byte 8: expected the format '" + format +
                             "', found '" + word("format") + "'");
  }
  algorithm_ = word("optimizer");
  const TensorLayout& layout = optimizer.layout();
  if (word("elements") != std::to_string(layout.elements())) {
    throw std::runtime_error(file.path().string() + ": it was saved with d = " + word("elements") +
                             " parameters, the model has d = " + std::to_string(layout.elements()) +
                             ": it belongs to another model");
  }
  if (word("tensors") != std::to_string(hash_of(layout))) {
    throw std::runtime_error(
        file.path().string() +
        ": it was saved with tensors of other names or lengths than the model has, though "
        "of as many parameters in all: it belongs to another model");
  }
  const Arrangement now = Arrangement::of(optimizer);
  same_arrangement_ = word("ranks") == std::to_string(now.ranks) &&
                      word("ranks_per_node") == std::to_string(now.ranks_per_node) &&
                      word("options") == now.options;
  for (const auto& [key, text] : file.metadata()) {
    if (key.starts_with(number_prefix)) numbers_[key.substr(number_prefix.size())] = text;
  }
}

void StateFiles::take_program(const io::TensorFile& file) {
  for (const auto& [key, text] : file.metadata()) {
    if (key.starts_with(program_prefix)) program_[key.substr(program_prefix.size())] = text;
  }
}

bool StateFiles::read(const StateNumber& number) {
  const auto found = numbers_.find(number.name);
  if (found == numbers_.end()) return false;
  if (!from_text(found->second, number.place)) {
    throw std::runtime_error(path_of(0).string() + ": at byte 8: expected a value for the number '" +
                             number.name + "' as these options have it, found '" +
                             found->second.substr(0, 40) + "'");
  }
  return true;
}

const std::vector<StateFiles::Part>* StateFiles::parts_for(const std::string& name, const Placement& wanted,
                                                           io::TensorType type) {
  const auto found = parts_.find(name);
  if (found == parts_.end()) return nullptr;
  read_.insert(name);
  const Part& first = found->second.front();
  if (first.type != type || (first.placement.elements != wanted.elements && type == io::TensorType::f32)) {
    throw std::runtime_error(path_of(first.file).string() + ": expected '" + name + "' to have " +
                             std::to_string(wanted.elements) + " elements, found " +
                             std::to_string(first.placement.elements));
  }
  return &found->second;
}

bool StateFiles::read(const ExecutionSpace& exec, const StateVector& vector) {
  const Placement& wanted = vector.placement;
  const std::vector<Part>* const parts = parts_for(vector.name, wanted, io::TensorType::f32);
  if (parts == nullptr) return false;
  std::vector<float> values;
  if (parts->front().placement.copies == wanted.copies) {
    values.resize(static_cast<std::size_t>(wanted.range.elements()));
    read_copy(vector.name, *parts, wanted.copy, wanted.range, std::as_writable_bytes(std::span(values)));
  } else {
    values = mean_of_copies(vector.name, *parts, wanted.range);
  }
  const HostVector<const float> host(values.data(), values.size());
  if (vector.if_missing == StateVector::IfMissing::add) {
    const Vector<const float> more = Kokkos::create_mirror_view_and_copy(MemorySpace{}, host);
    const Vector<float> sum = vector.values;
    Kokkos::parallel_for(
        "kadam::checkpoint::add",
        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, values.size()),
        KOKKOS_LAMBDA(const std::size_t i) { sum(i) += more(i); });
  } else {
    Kokkos::deep_copy(exec, vector.values, host);
  }
  exec.fence("kadam::checkpoint::StateFiles::read");
  return true;
}

bool StateFiles::read(const ExecutionSpace& exec, const StateBytes& bytes) {
  const std::vector<Part>* const parts = parts_for(bytes.name, bytes.placement, io::TensorType::u8);
  if (parts == nullptr) return false;
  std::vector<std::byte> values(static_cast<std::size_t>(bytes.placement.range.elements()));
  read_copy(bytes.name, *parts, bytes.placement.copy, bytes.placement.range, values);
  Kokkos::deep_copy(exec, bytes.bytes, HostVector<const std::byte>(values.data(), values.size()));
  exec.fence("kadam::checkpoint::StateFiles::read");
  return true;
}

void StateFiles::read_copy(const std::string& name, const std::vector<Part>& parts, int copy,
                           const ElementRange& range, std::span<std::byte> into) const {
  std::int64_t at = range.begin;
  // The parts of a copy lie in the order of their owners, which need not be that of the files.
  while (at < range.end) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      const ElementRange& of_part = part.placement.range;
      return part.placement.copy == copy && of_part.begin <= at && at < of_part.end;
    });
    if (found == parts.end()) {
      throw std::runtime_error(folder_.string() + ": expected element " + std::to_string(at) + " of '" +
                               name + "' in one of its files, found it in none");
    }
    const std::uint64_t width = io::bytes_per_element(found->type);
    const ElementRange& of_part = found->placement.range;
    const std::int64_t end = std::min(of_part.end, range.end);
    io::TensorFile file(path_of(found->file));
    file.read(file.find(name), at - of_part.begin,
              into.subspan(width * static_cast<std::uint64_t>(at - range.begin),
                           width * static_cast<std::uint64_t>(end - at)));
    at = end;
  }
}

std::vector<float> StateFiles::mean_of_copies(const std::string& name, const std::vector<Part>& parts,
                                              const ElementRange& range) const {
  const int copies = parts.front().placement.copies;
  const auto elements = static_cast<std::size_t>(range.elements());
  std::vector<double> sum(elements, 0.0);
  std::vector<float> values(elements);
  for (int copy = 0; copy < copies; ++copy) {
    read_copy(name, parts, copy, range, std::as_writable_bytes(std::span(values)));
    for (std::size_t i = 0; i < elements; ++i) sum[i] += static_cast<double>(values[i]);
  }
  for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(sum[i] / copies);
  return values;
}

void StateFiles::require_all_read() const {
  for (const auto& [name, parts] : parts_) {
    const bool may_stay = read_.contains(name) || parts.front().type == io::TensorType::u8;
    if (may_stay) continue;
    throw std::runtime_error(path_of(parts.front().file).string() + ": it holds '" + name + "', for which " +
                             algorithm_ +
                             " has no place with these options: take those that "
                             "it was saved with");
  }
}

}  // namespace kadam::checkpoint
