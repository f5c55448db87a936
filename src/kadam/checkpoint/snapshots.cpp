// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/snapshots.hpp>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace kadam::checkpoint {
namespace {

/// The first rank on the host of each rank. Collective.
std::vector<int> hosts_of(Communicator& communicator) {
  const auto host = communicator.split_by_node();
  const double own = communicator.rank();
  const double first = host->all_gather_values({&own, 1}).front();
  std::vector<int> hosts;
  for (const double of_rank : communicator.all_gather_values({&first, 1}))
    hosts.push_back(static_cast<int>(of_rank));
  return hosts;
}

/// The length of pieces: a few milliseconds on a slow network; of a long part more, so that an exchange can
/// number its pieces.
std::size_t piece_bytes_of(std::size_t bytes) {
  constexpr std::size_t shortest = std::size_t{256} << 10U;
  return std::max(shortest, bytes / (Exchange::most_numbers / 2));
}

std::size_t pieces_in(std::size_t bytes, std::size_t piece_bytes) {
  return (bytes + piece_bytes - 1) / piece_bytes;
}

Piece piece_of(std::size_t number, std::size_t bytes, std::size_t piece_bytes) {
  const std::size_t begin = number * piece_bytes;
  return {begin, std::min(piece_bytes, bytes - begin)};
}

/// Gathers a struct of doubles from every rank, in their order. Collective.
template <class Numbers>
std::vector<Numbers> all_gather(Communicator& communicator, const Numbers& own) {
  static_assert(sizeof(Numbers) % sizeof(double) == 0);
  using Values = std::array<double, sizeof(Numbers) / sizeof(double)>;
  const std::vector<double> of_all = communicator.all_gather_values(std::bit_cast<Values>(own));
  std::vector<Numbers> all(static_cast<std::size_t>(communicator.size()), own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    Values of_rank;
    std::copy_n(&of_all[rank * of_rank.size()], of_rank.size(), of_rank.begin());
    all[rank] = std::bit_cast<Numbers>(of_rank);
  }
  return all;
}

}  // namespace

/// Ranks stand in a circle, sorted by hosts. A rank's partner stands as many places further as the largest
/// host has ranks; if that host has more than half of them, the next place.
Partners Partners::on(const std::vector<int>& hosts) {
  std::vector<int> circle(hosts.size());
  std::iota(circle.begin(), circle.end(), 0);
  const auto host = [&](int rank) { return hosts[static_cast<std::size_t>(rank)]; };
  std::stable_sort(circle.begin(), circle.end(), [&](int a, int b) { return host(a) < host(b); });
  std::map<int, std::size_t> ranks_on;
  std::size_t largest = 1;
  for (const int of_rank : hosts) largest = std::max(largest, ++ranks_on[of_rank]);
  Partners partners{std::vector<int>(hosts.size()), 2 * largest <= hosts.size()};
  const std::size_t shift = partners.survive_hosts ? largest : 1;
  for (std::size_t k = 0; k < circle.size(); ++k)
    partners.of[static_cast<std::size_t>(circle[k])] = circle[(k + shift) % circle.size()];
  return partners;
}

Snapshots::Snapshots(const SnapshotOptions& options) : options_(options) {
  if (options.every < 1 || options.spread < 1 || options.spread > options.every) {
    throw std::invalid_argument(
        "kadam::checkpoint::Snapshots: expected every of 1 or more and spread from 1 to every, got every = " +
        std::to_string(options.every) + " and spread = " + std::to_string(options.spread));
  }
}

Snapshots::Snapshots(Optimizer& optimizer, const SnapshotOptions& options) : Snapshots(options) {
  taken_at_ = optimizer.steps_taken();
  connect(optimizer);
}

Snapshots::~Snapshots() = default;

void Snapshots::connect(Optimizer& optimizer) {
  exchange_.reset();
  line_ = optimizer.communicator().duplicate();
  const Partners partners = Partners::on(hosts_of(*line_));
  const int own = line_->rank();
  partner_ = partners.of[static_cast<std::size_t>(own)];
  ward_ = static_cast<int>(std::find(partners.of.begin(), partners.of.end(), own) - partners.of.begin());
  survives_hosts_ = partners.survive_hosts;
}

bool Snapshots::is_due(std::int64_t steps_taken) const {
  return steps_taken > taken_at_ && steps_taken % options_.every == 0;
}

void Snapshots::after_step(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
                           const ProgramState& program) {
  after_step();
  if (!is_due(optimizer.steps_taken())) return;
  begin(exec, optimizer, parameters, program);
  move_on(options_.spread == 1);
}

void Snapshots::after_step() {
  if (next_) move_on(++steps_under_way_ >= options_.spread);
}

void Snapshots::move_on(bool is_last) {
  const auto spread = static_cast<std::size_t>(options_.spread);
  if (is_last) {
    finish();
  } else {
    move((pieces_ + spread - 1) / spread);
  }
}

void Snapshots::take(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
                     const ProgramState& program) {
  if (next_) finish();
  begin(exec, optimizer, parameters, program);
  finish();
}

void Snapshots::begin(const ExecutionSpace& exec, Optimizer& optimizer, const Vector<float>& parameters,
                      const ProgramState& program) {
  if (line_ == nullptr)
    throw std::logic_error(
        "kadam::checkpoint::Snapshots: a newcomer must call restore_on() before it takes a snapshot");
  const std::size_t sent_before = line_->bytes_sent().total();
  const StateFields state = optimizer.state_to_save(exec, parameters);
  next_ = Snapshot{++taken_,
                   line_->size(),
                   SnapshotPart(exec, line_->rank(), part_to_save(optimizer, state, program),
                                std::exchange(spare_[0], {})),
                   {},
                   false};
  taken_at_ = optimizer.steps_taken();
  steps_under_way_ = 0;
  pieces_ = pieces_sent_ = to_arrive_ = 0;
  const std::span<const std::byte> own = next_->own.bytes();
  struct Sizes {
    double bytes;
    double of_tensors;
  };
  const std::vector<Sizes> sizes = all_gather(
      *line_, Sizes{static_cast<double>(own.size()), static_cast<double>(next_->own.tensor_bytes())});
  if (line_->size() > 1) {
    const auto& [bytes, of_tensors] = sizes[static_cast<std::size_t>(ward_)];
    next_->of_ward = SnapshotPart(ward_, static_cast<std::size_t>(bytes),
                                  static_cast<std::size_t>(of_tensors), std::exchange(spare_[1], {}));
    const std::span<std::byte> arrives = next_->of_ward.bytes();
    const ExchangeBuffers buffers{own, arrives};
    exchange_ = std::make_unique<Exchange>(*line_, Traffic::background, std::span(&buffers, 1));
    const std::size_t piece_bytes = piece_bytes_of(arrives.size());
    for (std::size_t k = 0; k < pieces_in(arrives.size(), piece_bytes); ++k)
      exchange_->receive(0, ward_, k, piece_of(k, arrives.size(), piece_bytes), to_arrive_++);
    piece_bytes_ = piece_bytes_of(own.size());
    pieces_ = pieces_in(own.size(), piece_bytes_);
  }
  bytes_sent_ = line_->bytes_sent().total() - sent_before + own.size() * (line_->size() > 1 ? 1 : 0);
}

void Snapshots::move(std::size_t pieces) {
  if (exchange_ == nullptr) return;
  const std::span<const std::byte> own = next_->own.bytes();
  for (; pieces > 0 && pieces_sent_ < pieces_; --pieces, ++pieces_sent_)
    exchange_->send(0, partner_, pieces_sent_, piece_of(pieces_sent_, own.size(), piece_bytes_));
  to_arrive_ -= exchange_->arrivals(false).size();
  next_->has_ward = to_arrive_ == 0;
}

void Snapshots::finish() {
  move(pieces_);
  while (exchange_ != nullptr && (to_arrive_ > 0 || exchange_->sending() > 0)) {
    to_arrive_ -= exchange_->arrivals(true).size();
    next_->has_ward = to_arrive_ == 0;
  }
  exchange_.reset();
  // The sum waits for all ranks: only when all have this snapshot may the one before go.
  has_newcomers_ = line_->sum_over_ranks(static_cast<double>(line_->newcomers())) > 0.0;
  if (whole_) spare_ = {whole_->own.take_memory(), whole_->of_ward.take_memory()};
  whole_ = std::move(next_);
  next_.reset();
}

Snapshots::Choice Snapshots::choose() {
  struct Offer {
    double number = -1.0;  ///< of the snapshot; below 0: none
    double ranks = 0.0;
    double own = -1.0;   ///< the rank whose part this is
    double ward = -1.0;  ///< likewise; below 0: it has not arrived
  };
  struct Own {
    std::array<Offer, 2> offers;
    double taken;
  };
  const auto offer_of = [](const std::optional<Snapshot>& one) -> Offer {
    if (!one) return {};
    return {static_cast<double>(one->number), static_cast<double>(one->ranks),
            static_cast<double>(one->own.rank()),
            one->has_ward && one->ranks > 1 ? static_cast<double>(one->of_ward.rank()) : -1.0};
  };
  const Own own{{offer_of(whole_), offer_of(next_)}, static_cast<double>(taken_)};
  struct Offered {
    std::size_t ranks = 0;
    std::set<int> parts;
    std::set<int> owners;
  };
  std::map<std::int64_t, Offered> offers;
  for (const Own& of_rank : all_gather(*line_, own)) {
    for (const Offer& offer : of_rank.offers) {
      if (offer.number < 0.0) continue;
      Offered& of_number = offers[static_cast<std::int64_t>(offer.number)];
      of_number.ranks = static_cast<std::size_t>(offer.ranks);
      of_number.owners.insert(static_cast<int>(offer.own));
      of_number.parts.insert(static_cast<int>(offer.own));
      if (offer.ward >= 0.0) of_number.parts.insert(static_cast<int>(offer.ward));
    }
    taken_ = std::max(taken_, static_cast<std::int64_t>(of_rank.taken));
  }
  for (auto one = offers.rbegin(); one != offers.rend(); ++one) {
    const auto& [number, of_number] = *one;
    if (of_number.parts.size() != of_number.ranks) continue;
    if (next_ && next_->number == number) whole_ = std::move(next_);
    if (whole_ && whole_->number != number) whole_.reset();
    next_.reset();
    Choice choice{static_cast<int>(of_number.ranks), {}};
    for (int rank = 0; rank < choice.ranks; ++rank) {
      if (!of_number.owners.contains(rank)) choice.lost.push_back(rank);
    }
    return choice;
  }
  throw SnapshotLost(offers.empty() ? "kadam: no snapshot has been taken yet"
                                    : "kadam: no snapshot is whole: a rank has failed together with the "
                                      "rank that kept a copy of its part; go on from a checkpoint");
}

Snapshots::Restored Snapshots::restore(const ExecutionSpace& exec, Optimizer& optimizer,
                                       const Parameters& parameters) {
  connect(optimizer);
  const Choice choice = choose();
  Restored restored;
  restored.lost = choice.lost;
  std::vector<const SnapshotPart*> held;
  if (whole_) {
    held.push_back(&whole_->own);
    if (whole_->has_ward && whole_->ranks > 1) held.push_back(&whole_->of_ward);
  }
  {
    SnapshotState state(*line_, held, choice.ranks, optimizer);
    optimizer.restore(exec, parameters, state);
    if (state.algorithm() == optimizer.name()) state.require_all_read();
    restored.program = state.program();
  }
  restored.step = optimizer.steps_taken();
  take(exec, optimizer, parameters.master(), restored.program);
  return restored;
}

Snapshots::Restored Snapshots::go_on(const ExecutionSpace& exec, Optimizer& failed,
                                     const Parameters& parameters, const MakeOptimizer& make) {
  return restore_on(exec, failed.communicator().survivors(), parameters, make);
}

Snapshots::Restored Snapshots::restore_on(const ExecutionSpace& exec, std::shared_ptr<Communicator> ranks,
                                          const Parameters& parameters, const MakeOptimizer& make) {
  for (;; ranks = ranks->survivors()) {
    try {
      return restore(exec, make(ranks), parameters);
    } catch (
        const PeerFailure&) {  // NOLINT(bugprone-empty-catch): one more, and those who are left try again
    }
  }
}

std::optional<Snapshots::Restored> Snapshots::admit(const ExecutionSpace& exec, Optimizer& optimizer,
                                                    const Parameters& parameters, const ProgramState& program,
                                                    const MakeOptimizer& make) {
  take(exec, optimizer, parameters.master(), program);
  std::shared_ptr<Communicator> all = optimizer.communicator().admit(kind_of(optimizer));
  if (all == nullptr) {
    has_newcomers_ = false;
    return std::nullopt;
  }
  return restore_on(exec, std::move(all), parameters, make);
}

std::string Snapshots::kind_of(const Optimizer& optimizer) const {
  std::string kind;
  for (const auto& [what, value] : optimizer.made_with()) kind += what + ": " + value + "\n";
  kind += "snapshots every " + std::to_string(options_.every) + " steps, spread over " +
          std::to_string(options_.spread) + "\n";
  return kind + options_.kind;
}

std::size_t Snapshots::bytes() const {
  return (whole_ ? whole_->bytes() : 0) + (next_ ? next_->bytes() : 0) + spare_[0].size() + spare_[1].size();
}

}  // namespace kadam::checkpoint
