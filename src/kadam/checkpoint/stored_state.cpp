// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/manifest.hpp>
#include <kadam/checkpoint/number_text.hpp>
#include <kadam/checkpoint/stored_state.hpp>
#include <kadam/optim/optimizer.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace kadam::checkpoint {
namespace {

/// The placement of what this rank saves of a vector: the chunk of its holder in the range.
Placement saved_range(const Placement& placement) {
  const std::int64_t first = placement.range.begin;
  const ElementRange own = ChunkLayout(placement.range.elements(), placement.holders).chunk(placement.holder);
  Placement part = placement;
  part.range = {first + own.begin, first + own.end};
  return part;
}

/// sum += values.
void add_stored(const ExecutionSpace& exec, const Vector<float>& sum, const HostVector<const float>& values) {
  const auto more = Kokkos::create_mirror_view_and_copy(MemorySpace{}, values);
  Kokkos::parallel_for(
      "kadam::checkpoint::add_stored",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, sum.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) { sum(i) += more(i); });
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
  // Groups also decide which elements a message holds.
  const std::string groups = optimizer.groups_text();
  if (!groups.empty()) arrangement.options += "groups = " + groups + "\n";
  return arrangement;
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

LivePart part_to_save(const Optimizer& optimizer, const StateFields& state, const ProgramState& program) {
  LivePart part;
  part.words = identity_of(optimizer);
  for (const StateNumber& number : state.numbers())
    part.words[number_prefix + number.name] = to_text(number.place);
  for (const auto& [key, words] : program) part.words[program_prefix + key] = words;
  const auto save = [&](const std::string& name, io::TensorType type, const Placement& placement,
                        const auto& values) {
    const Placement saved = saved_range(placement);
    part.tensors.push_back({name, type, saved.range.elements()});
    part.words[place_prefix + name] = to_text(saved);
    const std::span<std::byte> bytes = bytes_of(values);
    const std::uint64_t first =
        io::bytes_per_element(type) * static_cast<std::uint64_t>(saved.range.begin - placement.range.begin);
    part.bytes.emplace_back(bytes.data() + first, part.tensors.back().bytes());
  };
  for (const StateVector& field : saved_vectors(state))
    save(field.name, io::TensorType::f32, field.placement, field.values);
  for (const StateBytes& field : state.bytes())
    save(field.name, io::TensorType::u8, field.placement, field.bytes);
  return part;
}

void StoredState::take(const StatePart& part, const std::string& of_part, std::size_t parts,
                       const Optimizer& optimizer) {
  const std::size_t number = names_.size();
  names_.push_back(of_part);
  if (number == 0) take_identity(part, of_part, optimizer);
  // The program's words of this rank, or of rank 0 if the number of ranks differs.
  const Communicator& communicator = optimizer.communicator();
  const bool has_own = parts == static_cast<std::size_t>(communicator.size());
  if (number == (has_own ? static_cast<std::size_t>(communicator.rank()) : 0)) {
    for (const auto& [key, text] : part.words) {
      if (key.starts_with(program_prefix)) program_[key.substr(program_prefix.size())] = text;
    }
  }
  for (const io::StoredTensor& tensor : part.tensors) {
    const auto place = part.words.find(place_prefix + tensor.name);
    const auto placement = place == part.words.end() ? std::nullopt : placement_from(place->second);
    if (!placement || placement->range.elements() != tensor.elements) {
      throw std::runtime_error(of_part + ": at byte 8: expected metadata with the place of '" + tensor.name +
                               "' among the ranks, and with its length");
    }
    pieces_[tensor.name].push_back({number, *placement, tensor.type});
  }
}

void StoredState::take_identity(const StatePart& part, const std::string& of_part,
                                const Optimizer& optimizer) {
  const auto word = [&](const std::string& key) -> const std::string& {
    const auto found = part.words.find(key);
    if (found == part.words.end())
      throw std::runtime_error(of_part + ": at byte 8: expected metadata with '" + key + "'");
    return found->second;
  };
  const std::string format = "kadam state " + std::to_string(format_version);
  if (word("format") != format) {
    throw std::runtime_error(of_part + ": at byte 8: expected the format '" + format + "', found '" +
                             word("format") + "'");
  }
  algorithm_ = word("optimizer");
  const TensorLayout& layout = optimizer.layout();
  if (word("elements") != std::to_string(layout.elements())) {
    throw std::runtime_error(of_part + ": it was saved with d = " + word("elements") +
                             " parameters, the model has d = " + std::to_string(layout.elements()) +
                             ": it belongs to another model");
  }
  if (word("tensors") != std::to_string(hash_of(layout))) {
    throw std::runtime_error(
        of_part +
        ": its tensors have other names or lengths than those of the model, but as many parameters in all: "
        "it belongs to another model");
  }
  const Arrangement now = Arrangement::of(optimizer);
  same_arrangement_ = word("ranks") == std::to_string(now.ranks) &&
                      word("ranks_per_node") == std::to_string(now.ranks_per_node) &&
                      word("options") == now.options;
  for (const auto& [key, text] : part.words) {
    if (key.starts_with(number_prefix)) numbers_[key.substr(number_prefix.size())] = text;
  }
}

bool StoredState::read(const StateNumber& number) {
  const auto found = numbers_.find(number.name);
  if (found == numbers_.end()) return false;
  if (!from_text(found->second, number.place)) {
    throw std::runtime_error(names_.front() + ": at byte 8: expected a value for the number '" + number.name +
                             "' that fits these options, found '" + found->second.substr(0, 40) + "'");
  }
  return true;
}

const std::vector<StoredState::Piece>* StoredState::pieces_for(const std::string& name,
                                                               const Placement& wanted, io::TensorType type) {
  const auto found = pieces_.find(name);
  if (found == pieces_.end()) return nullptr;
  read_.insert(name);
  const Piece& first = found->second.front();
  if (first.type != type || (first.placement.elements != wanted.elements && type == io::TensorType::f32)) {
    throw std::runtime_error(names_[first.part] + ": expected '" + name + "' to have " +
                             std::to_string(wanted.elements) + " elements, found " +
                             std::to_string(first.placement.elements));
  }
  return &found->second;
}

std::vector<StoredState::Run> StoredState::runs_of(const std::string& name, const std::vector<Piece>& pieces,
                                                   int copy, const ElementRange& range) const {
  std::vector<Run> runs;
  // The pieces of a copy lie in the order of their owners, which need not be that of the parts.
  for (std::int64_t at = range.begin; at < range.end; at = runs.back().range.end) {
    const auto found = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      const ElementRange& of_piece = piece.placement.range;
      return piece.placement.copy == copy && of_piece.begin <= at && at < of_piece.end;
    });
    if (found == pieces.end()) {
      throw std::runtime_error(whole() + ": expected element " + std::to_string(at) + " of '" + name +
                               "' in one of its files, found it in none");
    }
    runs.push_back({&*found, {at, std::min(found->placement.range.end, range.end)}});
  }
  return runs;
}

void StoredState::put(const ExecutionSpace& exec, const StateVector& vector,
                      const std::vector<float>& values) {
  const HostVector<const float> host(values.data(), values.size());
  if (vector.if_missing == StateVector::IfMissing::add) {
    add_stored(exec, vector.values, host);
  } else {
    Kokkos::deep_copy(exec, vector.values, host);
  }
  exec.fence("kadam::checkpoint::StoredState::put");
}

void StoredState::require_all_read() const {
  for (const auto& [name, pieces] : pieces_) {
    const bool may_stay = read_.contains(name) || pieces.front().type == io::TensorType::u8;
    if (may_stay) continue;
    throw std::runtime_error(
        names_[pieces.front().part] + ": it holds '" + name + "', but " + algorithm_ +
        " has no place for it with these options: use the options that it was saved with");
  }
}

void MeanOfCopies::add(std::span<const float> copy) {
  for (std::size_t i = 0; i < copy.size(); ++i) sum_[i] += static_cast<double>(copy[i]);
}

std::vector<float> MeanOfCopies::mean(int copies) const {
  std::vector<float> values(sum_.size());
  for (std::size_t i = 0; i < sum_.size(); ++i) values[i] = static_cast<float>(sum_[i] / copies);
  return values;
}

}  // namespace kadam::checkpoint
