// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/self_transport.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

constexpr bool host_accessible = Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;

template <class To, class From>
void copy_bytes(const ExecutionSpace& exec, std::byte* to, const std::byte* from, std::size_t bytes) {
  using Target = Kokkos::View<std::byte*, To, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Source = Kokkos::View<const std::byte*, From, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(exec, Target(to, bytes), Source(from, bytes));
}

std::size_t bytes_to_others(std::span<const Piece> pieces, int own) {
  std::size_t sum = 0;
  for (std::size_t r = 0; r < pieces.size(); ++r) {
    if (static_cast<int>(r) != own) sum += pieces[r].bytes;
  }
  return sum;
}

}  // namespace

std::size_t ByteCounters::total() const {
  return std::accumulate(sent_.begin(), sent_.end(), std::size_t{0});
}

Communicator::Communicator(std::unique_ptr<Transport> transport, Staging staging)
    : transport_(std::move(transport)) {
  staged_ = staging == Staging::always || (!host_accessible && !transport_->accepts_device_memory());
}

std::shared_ptr<Communicator> Communicator::self() {
  return std::make_shared<Communicator>(std::make_unique<SelfTransport>());
}

std::string Communicator::description() const {
  return transport_->description() + (staged_ ? ", staged through host memory" : "");
}

std::byte* Communicator::host_buffer(HostBytes& buffer, std::size_t bytes, const std::string& label) {
  if (buffer.size() < bytes) {
    buffer = HostBytes(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), bytes);
  }
  return buffer.data();
}

void Communicator::reserve_staging(std::size_t send_bytes, std::size_t receive_bytes) {
  if (!staged_) return;
  (void)host_buffer(staged_send_, send_bytes, "kadam::Communicator::staged_send");
  (void)host_buffer(staged_receive_, receive_bytes, "kadam::Communicator::staged_receive");
}

void Communicator::all_to_all(const ExecutionSpace& exec, Traffic traffic, std::span<const std::byte> send,
                              std::span<const Piece> send_pieces, std::span<std::byte> receive,
                              std::span<const Piece> receive_pieces) {
  const std::byte* source = send.data();
  std::byte* target = receive.data();
  if (staged_) {
    std::byte* staged = host_buffer(staged_send_, send.size(), "kadam::Communicator::staged_send");
    copy_bytes<Kokkos::SharedHostPinnedSpace, MemorySpace>(exec, staged, send.data(), send.size());
    source = staged;
    target = host_buffer(staged_receive_, receive.size(), "kadam::Communicator::staged_receive");
  }
  exec.fence("kadam::Communicator::all_to_all");
  transport_->all_to_all(source, send_pieces, target, receive_pieces);
  if (staged_) {
    copy_bytes<MemorySpace, Kokkos::SharedHostPinnedSpace>(exec, receive.data(), target, receive.size());
  }
  counters_.add(traffic, bytes_to_others(send_pieces, rank()));
}

void Communicator::all_gather(const ExecutionSpace& exec, Traffic traffic, std::span<std::byte> buffer,
                              std::span<const Piece> pieces) {
  const Piece own = pieces[static_cast<std::size_t>(rank())];
  std::byte* target = buffer.data();
  if (staged_) {
    target = host_buffer(staged_receive_, buffer.size(), "kadam::Communicator::staged_receive");
    copy_bytes<Kokkos::SharedHostPinnedSpace, MemorySpace>(exec, target + own.offset_bytes,
                                                           buffer.data() + own.offset_bytes, own.bytes);
  }
  exec.fence("kadam::Communicator::all_gather");
  transport_->all_gather(target, pieces);
  if (staged_) {
    copy_bytes<MemorySpace, Kokkos::SharedHostPinnedSpace>(exec, buffer.data(), target, buffer.size());
  }
  counters_.add(traffic, own.bytes * static_cast<std::size_t>(size() - 1));
}

void Communicator::all_reduce_sum(const ExecutionSpace& exec, const Vector<float>& values) {
  const std::size_t bytes = values.size() * sizeof(float);
  auto* target = reinterpret_cast<std::byte*>(values.data());
  if (staged_) {
    target = host_buffer(staged_receive_, bytes, "kadam::Communicator::staged_receive");
    copy_bytes<Kokkos::SharedHostPinnedSpace, MemorySpace>(exec, target, bytes_of(values).data(), bytes);
  }
  exec.fence("kadam::Communicator::all_reduce_sum");
  transport_->all_reduce_sum(reinterpret_cast<float*>(target), values.size());
  if (staged_) {
    copy_bytes<MemorySpace, Kokkos::SharedHostPinnedSpace>(exec, bytes_of(values).data(), target, bytes);
  }
  const auto ranks = static_cast<std::size_t>(size());
  counters_.add(Traffic::dense, 2 * (ranks - 1) * bytes / ranks);
}

std::vector<double> Communicator::all_gather_values(std::span<const double> values) {
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<double> all(ranks * values.size());
  std::vector<Piece> pieces;
  for (std::size_t r = 0; r < ranks; ++r) {
    pieces.push_back({r * values.size_bytes(), values.size_bytes()});
  }
  std::copy(values.begin(), values.end(),
            all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank()) * values.size()));
  transport_->all_gather(reinterpret_cast<std::byte*>(all.data()), pieces);
  counters_.add(Traffic::control, values.size_bytes() * (ranks - 1));
  return all;
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

void Communicator::require_equal(std::span<const std::string> names, std::span<const std::uint64_t> values) {
  std::vector<double> bits;
  for (const std::uint64_t value : values) bits.push_back(std::bit_cast<double>(value));
  const std::vector<double> all = all_gather_values(bits);
  for (std::size_t r = 1; r < static_cast<std::size_t>(size()); ++r) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      // Compared as bits: as doubles some hashes would be NaN.
      const auto first = std::bit_cast<std::uint64_t>(all[k]);
      const auto other = std::bit_cast<std::uint64_t>(all[r * values.size() + k]);
      if (first != other) {
        throw std::invalid_argument("kadam::Communicator: rank 0 and rank " + std::to_string(r) +
                                    " disagree on " + names[k] + " (" + std::to_string(first) + " and " +
                                    std::to_string(other) + "): start all ranks with the same configuration");
      }
    }
  }
}

}  // namespace kadam
