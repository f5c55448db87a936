// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/snapshot_state.hpp>
#include <kadam/comm/exchange.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/optim/optimizer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace kadam::checkpoint {
namespace {

using nlohmann::json;

std::string description_of(const StatePart& part) {
  json tensors = json::array();
  for (const io::StoredTensor& tensor : part.tensors)
    tensors.push_back({tensor.name, tensor.type == io::TensorType::f32, tensor.elements});
  return json{{"words", part.words}, {"tensors", std::move(tensors)}}.dump();
}

StatePart part_of(const json& description) {
  StatePart part;
  part.words = description.at("words").get<io::Metadata>();
  for (const json& tensor : description.at("tensors")) {
    part.tensors.push_back({tensor.at(0).get<std::string>(),
                            tensor.at(1).get<bool>() ? io::TensorType::f32 : io::TensorType::u8,
                            tensor.at(2).get<std::int64_t>()});
  }
  return part;
}

}  // namespace

SnapshotPart::SnapshotPart(const ExecutionSpace& exec, int rank, const LivePart& part,
                           std::vector<std::byte> memory)
    : rank_(rank), memory_(std::move(memory)) {
  const std::string description = description_of(part);
  for (const io::StoredTensor& tensor : part.tensors) tensor_bytes_ += tensor.bytes();
  memory_.resize(tensor_bytes_ + description.size());
  std::byte* place = memory_.data();
  for (const Vector<std::byte>& bytes : part.bytes) {
    Kokkos::deep_copy(exec, HostVector<std::byte>(place, bytes.size()), bytes);
    place += bytes.size();
  }
  std::memcpy(place, description.data(), description.size());
  exec.fence("kadam::checkpoint::SnapshotPart");
}

SnapshotPart::SnapshotPart(int rank, std::size_t bytes, std::size_t tensor_bytes,
                           std::vector<std::byte> memory)
    : rank_(rank), tensor_bytes_(tensor_bytes), memory_(std::move(memory)) {
  memory_.resize(bytes);
}

std::string SnapshotPart::description() const {
  return {reinterpret_cast<const char*>(memory_.data()) + tensor_bytes_, memory_.size() - tensor_bytes_};
}

SnapshotState::SnapshotState(Communicator& communicator, std::span<const SnapshotPart* const> held, int ranks,
                             const Optimizer& optimizer)
    : communicator_(communicator),
      holders_(static_cast<std::size_t>(ranks)),
      begins_(static_cast<std::size_t>(ranks)) {
  std::array<double, 2> own = {-1.0, -1.0};
  for (std::size_t k = 0; k < held.size(); ++k) {
    own[k] = held[k]->rank();
    held_[k] = held[k]->bytes();
  }
  const std::vector<double> of_all = communicator.all_gather_values(own);
  for (std::size_t k = of_all.size(); k-- > 0;) {
    if (of_all[k] >= 0.0)
      holders_[static_cast<std::size_t>(of_all[k])] = {static_cast<int>(k / own.size()), k % own.size()};
  }
  json descriptions = json::object();
  for (std::size_t part = 0; part < holders_.size(); ++part) {
    const Holder& holder = holders_[part];
    if (holder.rank == communicator.rank())
      descriptions[std::to_string(part)] = held[holder.place]->description();
  }
  const std::vector<std::string> texts = communicator.all_gather_texts(descriptions.dump());
  for (std::size_t part = 0; part < holders_.size(); ++part) {
    const json of_holder = json::parse(texts[static_cast<std::size_t>(holders_[part].rank)]);
    const StatePart header = part_of(json::parse(of_holder.at(std::to_string(part)).get<std::string>()));
    std::size_t begin = 0;
    for (const io::StoredTensor& tensor : header.tensors) {
      begins_[part][tensor.name] = begin;
      begin += tensor.bytes();
    }
    take(header, "the snapshot's part of rank " + std::to_string(part), holders_.size(), optimizer);
  }
}

std::vector<SnapshotState::Want> SnapshotState::wants_of_all(const Want& own) {
  const std::array<double, 3> numbers = {static_cast<double>(own.copy), static_cast<double>(own.range.begin),
                                         static_cast<double>(own.range.end)};
  const std::vector<double> of_all = communicator_.all_gather_values(numbers);
  std::vector<Want> wants;
  for (std::size_t k = 0; k < of_all.size(); k += numbers.size()) {
    wants.push_back({static_cast<int>(of_all[k]),
                     {static_cast<std::int64_t>(of_all[k + 1]), static_cast<std::int64_t>(of_all[k + 2])}});
  }
  return wants;
}

void SnapshotState::add_moves(const std::string& name, const std::vector<Piece>& pieces, int copy,
                              const ElementRange& range, int to, std::size_t into,
                              std::vector<Move>& moves) const {
  for (const auto& [piece, elements] : runs_of(name, pieces, copy, range)) {
    const std::uint64_t width = io::bytes_per_element(piece->type);
    const auto bytes_in = [&](std::int64_t from, std::int64_t until) {
      return static_cast<std::size_t>(width * static_cast<std::uint64_t>(until - from));
    };
    const Holder& holder = holders_[piece->part];
    moves.push_back({holder.rank, to, holder.place,
                     begins_[piece->part].at(name) + bytes_in(piece->placement.range.begin, elements.begin),
                     into + bytes_in(range.begin, elements.begin), bytes_in(elements.begin, elements.end)});
  }
}

bool SnapshotState::read(const ExecutionSpace& exec, const StateVector& vector) {
  const Placement& wanted = vector.placement;
  const std::vector<Piece>* const pieces = pieces_for(vector.name, wanted, io::TensorType::f32);
  if (pieces == nullptr) return false;
  if (pieces->front().placement.copies != wanted.copies) {
    put(exec, vector, mean_of_copies(vector.name, *pieces, wanted.range));
    return true;
  }
  std::vector<float> values(static_cast<std::size_t>(wanted.range.elements()));
  read_copy(vector.name, *pieces, wanted, std::as_writable_bytes(std::span(values)));
  put(exec, vector, values);
  return true;
}

bool SnapshotState::read(const ExecutionSpace& exec, const StateBytes& bytes) {
  const std::vector<Piece>* const pieces = pieces_for(bytes.name, bytes.placement, io::TensorType::u8);
  if (pieces == nullptr) return false;
  std::vector<std::byte> values(static_cast<std::size_t>(bytes.placement.range.elements()));
  read_copy(bytes.name, *pieces, bytes.placement, values);
  Kokkos::deep_copy(exec, bytes.bytes, HostVector<const std::byte>(values.data(), values.size()));
  exec.fence("kadam::checkpoint::SnapshotState::read");
  return true;
}

void SnapshotState::read_copy(const std::string& name, const std::vector<Piece>& pieces,
                              const Placement& wanted, std::span<std::byte> into) {
  std::vector<Move> moves;
  const std::vector<Want> wants = wants_of_all({wanted.copy, wanted.range});
  for (std::size_t rank = 0; rank < wants.size(); ++rank)
    add_moves(name, pieces, wants[rank].copy, wants[rank].range, static_cast<int>(rank), 0, moves);
  exchange(moves, held_, into);
}

/// Rank r computes the mean of chunk r, and sends each rank the elements that it needs: 8 d bytes to each
/// rank. To send all copies to all ranks would take 4 d for each copy.
std::vector<float> SnapshotState::mean_of_copies(const std::string& name, const std::vector<Piece>& pieces,
                                                 const ElementRange& wanted) {
  const Placement& placement = pieces.front().placement;
  const ChunkLayout chunks(placement.elements, communicator_.size());
  const int copies = placement.copies;
  std::vector<Move> moves;
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    const ElementRange chunk = chunks.chunk(rank);
    const auto bytes = static_cast<std::size_t>(chunk.elements()) * sizeof(float);
    for (int copy = 0; copy < copies; ++copy)
      add_moves(name, pieces, copy, chunk, rank, static_cast<std::size_t>(copy) * bytes, moves);
  }
  const auto own = static_cast<std::size_t>(chunks.chunk(communicator_.rank()).elements());
  std::vector<float> of_copies(own * static_cast<std::size_t>(copies));
  exchange(moves, held_, std::as_writable_bytes(std::span(of_copies)));
  MeanOfCopies sum(own);
  for (std::size_t copy = 0; copy < static_cast<std::size_t>(copies); ++copy)
    sum.add(std::span(of_copies).subspan(copy * own, own));
  const std::vector<float> mean = sum.mean(copies);

  const std::vector<Want> wants = wants_of_all({0, wanted});
  moves.clear();
  for (int to = 0; to < communicator_.size(); ++to) {
    const ElementRange range = wants[static_cast<std::size_t>(to)].range;
    for (int from = 0; from < communicator_.size(); ++from) {
      const ElementRange chunk = chunks.chunk(from);
      const std::int64_t begin = std::max(range.begin, chunk.begin);
      const std::int64_t end = std::min(range.end, chunk.end);
      if (begin >= end) continue;
      const auto bytes_of_elements = [](std::int64_t count) {
        return static_cast<std::size_t>(count) * sizeof(float);
      };
      moves.push_back({from, to, 0, bytes_of_elements(begin - chunk.begin),
                       bytes_of_elements(begin - range.begin), bytes_of_elements(end - begin)});
    }
  }
  std::vector<float> values(static_cast<std::size_t>(wanted.elements()));
  exchange(moves, {std::as_bytes(std::span(mean)), {}}, std::as_writable_bytes(std::span(values)));
  return values;
}

void SnapshotState::exchange(const std::vector<Move>& moves, const Sources& sources,
                             std::span<std::byte> target) {
  const std::array<ExchangeBuffers, 2> buffers = {{{sources[0], target}, {sources[1], target}}};
  Exchange exchange(communicator_, Traffic::background, buffers);
  const int own = communicator_.rank();
  // Sender and receiver number the messages of one source between them alike: in the order of moves.
  std::map<std::pair<int, std::size_t>, std::size_t> numbers;
  const auto next = [&](int other, std::size_t source) {
    return numbers[{other, source}]++ % Exchange::most_numbers;
  };
  std::size_t to_arrive = 0;
  for (const Move& move : moves) {
    if (move.to != own || move.from == own) continue;
    exchange.receive(move.source, move.from, next(move.from, move.source), {move.into, move.bytes},
                     to_arrive++);
  }
  numbers.clear();
  for (const Move& move : moves) {
    if (move.from != own) continue;
    if (move.to == own) {
      std::memcpy(target.data() + move.into, sources[move.source].data() + move.at, move.bytes);
    } else {
      exchange.send(move.source, move.to, next(move.to, move.source), {move.at, move.bytes});
    }
  }
  while (to_arrive > 0 || exchange.sending() > 0) to_arrive -= exchange.arrivals(true).size();
}

}  // namespace kadam::checkpoint
