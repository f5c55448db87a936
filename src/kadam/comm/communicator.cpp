// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/copy_bytes.hpp>
#include <kadam/comm/exchange.hpp>
#include <kadam/config.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

/// The transport of a single rank: nothing is sent.
class SelfTransport final : public Transport {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] bool accepts_device_memory() const override { return false; }
  [[nodiscard]] bool allows_threads() const override { return true; }
  [[nodiscard]] std::string description() const override { return "one rank, no exchange"; }

  [[nodiscard]] std::unique_ptr<Messages> messages() override { return std::make_unique<NoMessages>(); }
  [[nodiscard]] bool all_gather(std::byte* /*all*/, std::size_t /*bytes*/, Seconds /*patience*/) override {
    return true;
  }
  [[nodiscard]] std::vector<int> missing_ranks(Seconds /*patience*/) override { return {}; }
  void all_reduce_sum(float* /*values*/, std::size_t /*count*/) override {}

  [[nodiscard]] std::unique_ptr<Transport> duplicate() override { return std::make_unique<SelfTransport>(); }
  [[nodiscard]] std::unique_ptr<Transport> split(int /*colour*/) override { return duplicate(); }
  [[nodiscard]] std::unique_ptr<Transport> split_by_node() override { return duplicate(); }

 private:
  /// There is nobody to send to.
  class NoMessages final : public Messages {
   public:
    void send(int /*to*/, int /*tag*/, const std::byte* /*data*/, std::size_t /*bytes*/, SendMode /*mode*/,
              std::size_t /*id*/) override {}
    void receive(int /*from*/, int /*tag*/, std::byte* /*data*/, std::size_t /*bytes*/,
                 std::size_t /*id*/) override {}
    void receive_any(int /*from*/, std::byte* /*data*/, std::size_t /*bytes*/, std::size_t /*id*/) override {}
    void progress(Seconds /*patience*/, Done& /*done*/) override {}
    [[nodiscard]] std::size_t sending() const override { return 0; }
    [[nodiscard]] std::size_t receiving() const override { return 0; }
    void give_up() override {}
  };
};

/// Calls part(number, part of the piece) for parts of at most part_bytes: messages so short that MPI sends
/// them without asking the receiver first, which would cost one more round trip. A piece of more than 16
/// parts goes as one message: beside its length a round trip is little, and the transport need not hold it
/// back part by part.
template <class Function>
void for_each_part(const Piece& piece, std::size_t part_bytes, const Function& part) {
  constexpr std::size_t most_parts = 16;
  if (piece.bytes > most_parts * part_bytes) part_bytes = piece.bytes;
  std::size_t number = 0;
  for (std::size_t offset = 0; offset < piece.bytes; offset += part_bytes, ++number)
    part(number, Piece{piece.offset_bytes + offset, std::min(part_bytes, piece.bytes - offset)});
}

}  // namespace

std::size_t ByteCounters::total() const {
  return std::accumulate(sent_.begin(), sent_.end(), std::size_t{0});
}

Communicator::Communicator(std::unique_ptr<Transport> transport, const ExchangeOptions& options)
    : transport_(std::move(transport)), numbers_(transport_), options_(options) {
  if (!(options.timeout_seconds >= 0.0)) {
    throw std::invalid_argument("kadam::Communicator: expected a timeout of 0 (none) or more seconds, got " +
                                std::to_string(options.timeout_seconds));
  }
  const bool needs_it = !host_reaches_vectors && !transport_->accepts_device_memory();
  staged_ = options.staging == Staging::always || (options.staging == Staging::automatic && needs_it);
  if (!staged_ || size() == 1) return;
  staging_ =
      std::make_shared<StagingPool>(size(), std::min(piece_bytes(), transport_->longest_message_bytes()));
}

std::shared_ptr<Communicator> Communicator::self() {
  return std::make_shared<Communicator>(std::make_unique<SelfTransport>());
}

std::string Communicator::description() const {
  std::string text = transport_->description();
  if (has_two_levels()) {
    text += " in " + std::to_string(across_->size()) + " nodes of " + std::to_string(node_->size()) +
            ", dense inside a node" +
            (node_->collectives_ == nullptr ? "" : " (" + node_->collectives_->name() + ")");
  }
  return text + (staged_ ? ", staged through host memory" : "");
}

std::shared_ptr<Communicator> Communicator::duplicate() {
  auto copy = made_of(transport_->duplicate());
  copy->numbers_ = numbers_;
  return copy;
}

std::shared_ptr<Communicator> Communicator::split(int colour) {
  return made_of(transport_->split(colour));
}

std::shared_ptr<Communicator> Communicator::split_by_node() {
  return made_of(transport_->split_by_node());
}

std::shared_ptr<Communicator> Communicator::survivors() {
  if (!survives_failures()) {
    throw PeerFailure("kadam: a rank has failed, and the other ranks cannot go on without it over " +
                      transport_->description() +
                      ": use TCP, or start Open MPI 5 with mpirun --with-ft ulfm");
  }
  return made_of(numbers_->shrink());
}

std::shared_ptr<Communicator> Communicator::admit(const std::string& kind) {
  std::unique_ptr<Transport> all = numbers_->admit(kind);
  return all == nullptr ? nullptr : made_of(std::move(all));
}

std::shared_ptr<Communicator> Communicator::made_of(std::unique_ptr<Transport> transport) const {
  auto communicator = std::make_shared<Communicator>(std::move(transport), options_);
  communicator->observer_ = observer_;
  return communicator;
}

std::unique_ptr<Communicator> Communicator::level(std::unique_ptr<Transport> transport) const {
  auto communicator = std::make_unique<Communicator>(std::move(transport), options_);
  communicator->counters_ = counters_;
  communicator->observer_ = observer_;
  communicator->numbers_ = numbers_;
  if (staging_ != nullptr) communicator->staging_ = staging_;
  return communicator;
}

void Communicator::form_levels(int ranks_per_node) {
  // Ranks that stage cut messages in other places than ranks that do not.
  const std::vector<std::string> names = {"the ranks per node",
                                          "whether messages pass through host memory (1: they do)"};
  const std::vector<std::uint64_t> wanted = {static_cast<std::uint64_t>(ranks_per_node), staged_ ? 1U : 0U};
  require_equal(names, wanted);
  if (ranks_per_node == 1) return;
  if (ranks_per_node < 0 || (ranks_per_node > 0 && size() % ranks_per_node != 0)) {
    throw std::invalid_argument("kadam::Communicator: " + std::to_string(ranks_per_node) +
                                " ranks per node do not divide " + std::to_string(size()) +
                                " ranks: give a divisor, or 0 for the ranks that share memory");
  }
  auto node =
      level(ranks_per_node == 0 ? transport_->split_by_node() : transport_->split(rank() / ranks_per_node));
  const auto own = static_cast<double>(node->size());
  for (const double size : all_gather_values({&own, 1})) {
    if (size != own) {
      throw std::invalid_argument(
          "kadam::Communicator: two levels need the same number of ranks on each node, found nodes with " +
          std::to_string(node->size()) + " and with " + std::to_string(static_cast<int>(size)) +
          " ranks: start the same number on each node, or set ranks_per_node = 1 for one level");
    }
  }
  if (node->size() == 1) return;
#ifdef KADAM_ENABLE_NCCL
  node->collectives_ = make_nccl_collectives(*node);
#endif
  across_ = level(transport_->split(node->rank()));
  watched_ = node->watched_ = across_->watched_ = node->collectives_;
  node_ = std::move(node);
}

void Communicator::all_to_all(const ExecutionSpace& exec, Traffic traffic, std::span<const std::byte> send,
                              std::span<const Piece> send_pieces, std::span<std::byte> receive,
                              std::span<const Piece> receive_pieces) {
  const ExchangeBuffers buffers{send, receive};
  Exchange exchange(exec, *this, traffic, {&buffers, 1});
  std::size_t missing = 0;
  for (int k = 1; k < size(); ++k) {
    const int from = (rank() + size() - k) % size();
    for_each_part(
        receive_pieces[static_cast<std::size_t>(from)], piece_bytes(),
        [&](std::size_t number, const Piece& part) { exchange.receive(0, from, number, part, missing++); });
  }
  for (int k = 1; k < size(); ++k) {
    const int to = (rank() + k) % size();
    for_each_part(send_pieces[static_cast<std::size_t>(to)], piece_bytes(),
                  [&](std::size_t number, const Piece& part) { exchange.send(0, to, number, part); });
  }
  const auto own = static_cast<std::size_t>(rank());
  detail::copy_bytes<MemorySpace, MemorySpace>(exec, receive.data() + receive_pieces[own].offset_bytes,
                                               send.data() + send_pieces[own].offset_bytes,
                                               send_pieces[own].bytes);
  while (missing > 0 || exchange.sending() > 0) missing -= exchange.arrivals(true).size();
}

void Communicator::all_gather(const ExecutionSpace& exec, Traffic traffic, std::span<std::byte> buffer,
                              std::span<const Piece> pieces) {
  if (collectives_ != nullptr) {
    const auto others = static_cast<std::size_t>(size() - 1);
    collectives_->gather(exec, buffer.data(), pieces);
    count_sent(traffic, others * pieces[static_cast<std::size_t>(rank())].bytes);
    return;
  }
  const ExchangeBuffers buffers{buffer, buffer};
  Exchange exchange(exec, *this, traffic, {&buffers, 1});
  std::size_t missing = 0;
  for (int k = 1; k < size(); ++k) {
    const int from = (rank() + size() - k) % size();
    for_each_part(
        pieces[static_cast<std::size_t>(from)], piece_bytes(),
        [&](std::size_t number, const Piece& part) { exchange.receive(0, from, number, part, missing++); });
  }
  for_each_part(pieces[static_cast<std::size_t>(rank())], piece_bytes(),
                [&](std::size_t number, const Piece& part) { exchange.send_to_others(0, number, part); });
  while (missing > 0 || exchange.sending() > 0) missing -= exchange.arrivals(true).size();
}

void Communicator::all_reduce_sum(const ExecutionSpace& exec, const Vector<float>& values) {
  const std::size_t bytes = values.size() * sizeof(float);
  if (staging_ != nullptr) {
    sum_through_host(exec, values);
  } else {
    exec.fence("kadam::Communicator::all_reduce_sum");
    transport_->all_reduce_sum(values.data(), values.size());
  }
  const auto ranks = static_cast<std::size_t>(size());
  counters_->add(Traffic::dense, 2 * (ranks - 1) * bytes / ranks);
}

/// Sums the values in parts that fit into the staging memory.
void Communicator::sum_through_host(const ExecutionSpace& exec, const Vector<float>& values) {
  reserve_staging();
  auto* const host = staging_->memory().data();
  const std::size_t most = std::max<std::size_t>(1, staging_->bytes() / sizeof(float));
  for (std::size_t first = 0; first < values.size(); first += most) {
    const std::size_t count = std::min(most, values.size() - first);
    auto* const place = reinterpret_cast<std::byte*>(values.data() + first);
    detail::copy_bytes<Kokkos::SharedHostPinnedSpace, MemorySpace>(exec, host, place, count * sizeof(float));
    exec.fence("kadam::Communicator::all_reduce_sum");
    transport_->all_reduce_sum(reinterpret_cast<float*>(host), count);
    detail::copy_bytes<MemorySpace, Kokkos::SharedHostPinnedSpace>(exec, place, host, count * sizeof(float));
  }
  exec.fence("kadam::Communicator::all_reduce_sum: host memory is read");
}

Seconds Communicator::patience() const {
  return options_.timeout_seconds > 0.0 ? Seconds(options_.timeout_seconds) : for_ever;
}

void Communicator::report_missing_ranks() {
  // Ranks did not begin to wait at the same moment, so each gives the others some time.
  const std::vector<int> missing =
      numbers_->missing_ranks(Seconds(std::clamp(options_.timeout_seconds / 4.0, 1.0, 30.0)));
  std::ostringstream text;
  text << "kadam: no message has come for " << options_.timeout_seconds << " s";
  if (missing.empty()) {
    text << " although all ranks wait: have all ranks made the same calls?";
  } else {
    text << (missing.size() == 1 ? "; this rank does not answer:" : "; these ranks do not answer:");
    for (const int rank : missing) text << ' ' << rank;
    text << " (ended, at a standstill or busy with other work; timeout_seconds sets how long to wait)";
  }
  throw PeerFailure(text.str());
}

void Communicator::move_messages(bool wait, Messages::Done& done) {
  messages_->progress(wait ? patience() : Seconds(0.0), done);
  if (wait && done.empty() && messages_->sending() + messages_->receiving() > 0) report_missing_ranks();
}

void Communicator::gather(std::byte* all, std::size_t bytes) {
  if (!transport_->all_gather(all, bytes, patience())) report_missing_ranks();
}

std::vector<double> Communicator::all_gather_values(std::span<const double> values) {
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<double> all(ranks * values.size());
  std::copy(values.begin(), values.end(),
            all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank()) * values.size()));
  gather(reinterpret_cast<std::byte*>(all.data()), values.size_bytes());
  counters_->add(Traffic::control, values.size_bytes() * (ranks - 1));
  return all;
}

double Communicator::sum_over_ranks(double own) {
  const std::vector<double> all = all_gather_values({&own, 1});
  return std::accumulate(all.begin(), all.end(), 0.0);
}

void Communicator::require_success(const std::exception_ptr& own) {
  const double failed = own == nullptr ? 0.0 : 1.0;
  const std::vector<double> all = all_gather_values({&failed, 1});
  if (own != nullptr) std::rethrow_exception(own);
  const auto first = std::find(all.begin(), all.end(), 1.0);
  if (first != all.end()) {
    throw PeerFailure("kadam: rank " + std::to_string(first - all.begin()) +
                      " failed: its own message says why");
  }
}

std::vector<std::string> Communicator::all_gather_texts(std::string_view own) {
  const auto own_length = static_cast<double>(own.size());
  const std::vector<double> lengths = all_gather_values({&own_length, 1});
  const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  std::vector<double> words((longest + sizeof(double) - 1) / sizeof(double), 0.0);
  if (words.empty()) return std::vector<std::string>(lengths.size());
  std::memcpy(words.data(), own.data(), own.size());
  const std::vector<double> all = all_gather_values(words);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    const auto* const first = reinterpret_cast<const char*>(&all[rank * words.size()]);
    texts.emplace_back(first, static_cast<std::size_t>(lengths[rank]));
  }
  return texts;
}

std::optional<Difference> Communicator::first_difference(std::span<const std::uint64_t> values) {
  std::vector<double> bits;
  for (const std::uint64_t value : values) bits.push_back(std::bit_cast<double>(value));
  const std::vector<double> all = all_gather_values(bits);
  for (std::size_t k = values.size(); k < all.size(); ++k) {
    // Compared as bits: as doubles some hashes would be NaN.
    const auto first = std::bit_cast<std::uint64_t>(all[k % values.size()]);
    const auto other = std::bit_cast<std::uint64_t>(all[k]);
    if (first != other)
      return Difference{static_cast<int>(k / values.size()), k % values.size(), first, other};
  }
  return std::nullopt;
}

void Communicator::require_equal(std::span<const std::string> names, std::span<const std::uint64_t> values,
                                 std::string_view advice) {
  const std::optional<Difference> found = first_difference(values);
  if (!found) return;
  throw std::invalid_argument("kadam::Communicator: rank 0 and rank " + std::to_string(found->rank) +
                              " disagree on " + names[found->value] + " (" + std::to_string(found->of_first) +
                              " and " + std::to_string(found->of_rank) + "): " + std::string(advice));
}

}  // namespace kadam
