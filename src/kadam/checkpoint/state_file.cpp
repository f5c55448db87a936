// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/state_file.hpp>
#include <kadam/io/host_file.hpp>
#include <kadam/optim/optimizer.hpp>

#include <algorithm>
#include <span>
#include <stdexcept>

namespace kadam::checkpoint {

std::string state_file_name(int rank, int ranks) {
  return "state-" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".safetensors";
}

ManifestFile write_state_file(const ExecutionSpace& exec, const std::filesystem::path& folder,
                              const Optimizer& optimizer, const StateFields& state,
                              const ProgramState& program) {
  const LivePart part = part_to_save(optimizer, state, program);
  const Communicator& communicator = optimizer.communicator();
  const std::string name = state_file_name(communicator.rank(), communicator.size());
  io::TensorFileWriter file(folder / name, part.tensors, part.words);
  for (const Vector<std::byte>& bytes : part.bytes) {
    const auto host = Kokkos::create_mirror_view(bytes);
    Kokkos::deep_copy(exec, host, bytes);
    exec.fence("kadam::checkpoint::write_state_file");
    file.write(std::span(host.data(), host.size()));
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
    files_.push_back(folder / name);
  }
  for (const std::filesystem::path& path : files_) {
    const io::TensorFile file(path);
    take({file.metadata(), file.tensors()}, path.string(), files_.size(), optimizer);
  }
}

bool StateFiles::read(const ExecutionSpace& exec, const StateVector& vector) {
  const Placement& wanted = vector.placement;
  const std::vector<Piece>* const pieces = pieces_for(vector.name, wanted, io::TensorType::f32);
  if (pieces == nullptr) return false;
  std::vector<float> values(static_cast<std::size_t>(wanted.range.elements()));
  const auto read_one = [&](int copy) {
    read_copy(vector.name, *pieces, copy, wanted.range, std::as_writable_bytes(std::span(values)));
  };
  const int copies = pieces->front().placement.copies;
  if (copies == wanted.copies) {
    read_one(wanted.copy);
  } else {
    MeanOfCopies mean(values.size());
    for (int copy = 0; copy < copies; ++copy) {
      read_one(copy);
      mean.add(values);
    }
    values = mean.mean(copies);
  }
  put(exec, vector, values);
  return true;
}

bool StateFiles::read(const ExecutionSpace& exec, const StateBytes& bytes) {
  const std::vector<Piece>* const pieces = pieces_for(bytes.name, bytes.placement, io::TensorType::u8);
  if (pieces == nullptr) return false;
  std::vector<std::byte> values(static_cast<std::size_t>(bytes.placement.range.elements()));
  read_copy(bytes.name, *pieces, bytes.placement.copy, bytes.placement.range, values);
  Kokkos::deep_copy(exec, bytes.bytes, HostVector<const std::byte>(values.data(), values.size()));
  exec.fence("kadam::checkpoint::StateFiles::read");
  return true;
}

void StateFiles::read_copy(const std::string& name, const std::vector<Piece>& pieces, int copy,
                           const ElementRange& range, std::span<std::byte> into) const {
  for (const auto& [piece, elements] : runs_of(name, pieces, copy, range)) {
    const std::uint64_t width = io::bytes_per_element(piece->type);
    io::TensorFile file(files_[piece->part]);
    file.read(file.find(name), elements.begin - piece->placement.range.begin,
              into.subspan(width * static_cast<std::uint64_t>(elements.begin - range.begin),
                           width * static_cast<std::uint64_t>(elements.elements())));
  }
}

}  // namespace kadam::checkpoint
