// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <plan/machine.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

namespace kadam::plan {
namespace {

void require(bool holds, const char* figure, double value, const char* expected) {
  if (holds) return;
  std::string text = "kadam::plan::Network: ";
  text.append(figure).append(": expected ").append(expected).append(", got ").append(std::to_string(value));
  throw std::invalid_argument(text);
}

void require_seconds(const char* figure, double value) {
  require(std::isfinite(value) && value >= 0.0, figure, value, "0 seconds or more");
}

void require_rate(const char* figure, double value) {
  require(std::isfinite(value) && value > 0.0, figure, value, "more than 0 bytes per second");
}

/// The bytes of one rank, every other rank getting the same share, over links and inside hosts at once.
double direct_seconds(const Network& network, int ranks, int on_host, double bytes) {
  const double inside = static_cast<double>(on_host - 1) / static_cast<double>(ranks - 1);
  const double over_link = on_host * bytes * (1.0 - inside) / network.link_bytes_per_second;
  return on_host == 1 ? over_link : std::max(over_link, bytes * inside / network.node_bytes_per_second);
}

bool goes_by_doubling(const Transfer& transfer) {
  return transfer.pattern == Pattern::all_gather && transfer.traffic == Traffic::control;
}

int doublings(int ranks) {
  // The width's type is not the same in all standard libraries.
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

}  // namespace

void Network::validate() const {
  require_seconds("latency", latency_seconds);
  require_seconds("seconds per message", message_seconds);
  require_rate("rate of a host's link", link_bytes_per_second);
  require(ranks_per_node > 0, "ranks per node", ranks_per_node, "1 or more");
  require_seconds("latency inside a node", node_latency_seconds);
  if (ranks_per_node > 1) require_rate("rate inside a node", node_bytes_per_second);
}

Network Network::between_nodes() const {
  Network network = *this;
  network.link_bytes_per_second /= ranks_per_node;
  network.ranks_per_node = 1;
  return network;
}

double transfer_seconds(const Network& network, int ranks, const Transfer& transfer) {
  if (ranks <= 1 || transfer.bytes == 0) return 0.0;
  const int on_host = std::min(network.ranks_per_node, ranks);
  const bool spans_hosts = ranks > on_host;
  const double latency = spans_hosts ? network.latency_seconds : network.node_latency_seconds;
  const double direct = direct_seconds(network, ranks, on_host, static_cast<double>(transfer.bytes));
  return (goes_by_doubling(transfer) ? doublings(ranks) : 1) * latency +
         message_seconds(network, ranks, transfer) + direct;
}

double message_seconds(const Network& network, int ranks, const Transfer& transfer) {
  if (ranks <= 1 || transfer.bytes == 0) return 0.0;
  if (goes_by_doubling(transfer)) return doublings(ranks) * network.message_seconds;
  return (ranks - 1) * static_cast<double>(transfer.least_messages) * network.message_seconds;
}

const std::vector<Kernel>& calibrated_kernels() {
  static const std::vector<Kernel> kernels = [] {
    std::vector<Kernel> all(cost::plain_kernels.begin(), cost::plain_kernels.end());
    for_each_code([&](const auto& code) {
      for (const auto& of_code : {cost::encode, cost::reduce, cost::decode})
        all.push_back(of_code(code.name, code.bits));
    });
    for_each_code<ShortErrorCode>(
        [&](const auto& code) { all.push_back(cost::encode_short(code.name, code.bits)); });
    for_each_code<UniformCode>(
        [&](const auto& code) { all.push_back(cost::loco_encode(code.name, code.bits)); });
    return all;
  }();
  return kernels;
}

KernelCosts KernelCosts::at_memory_speed(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second) || bytes_per_second <= 0.0) {
    throw std::invalid_argument("kadam::plan::KernelCosts: expected more than 0 bytes per second, got " +
                                std::to_string(bytes_per_second));
  }
  KernelCosts costs;
  costs.seconds_per_byte_ = 1.0 / bytes_per_second;
  return costs;
}

void KernelCosts::set(const Kernel& kernel, double seconds_per_element) {
  if (!std::isfinite(seconds_per_element) || seconds_per_element < 0.0) {
    std::string text = "kadam::plan::KernelCosts: ";
    text.append(kernel.name()).append(": expected 0 seconds per element or more, got ");
    throw std::invalid_argument(text.append(std::to_string(seconds_per_element)));
  }
  seconds_[kernel.name()] = seconds_per_element;
}

void KernelCosts::take_others_as(const Kernel& kernel) {
  seconds_per_byte_ = seconds_.at(kernel.name()) / kernel.bytes_per_element;
}

double KernelCosts::per_element(const Kernel& kernel) const {
  const auto found = seconds_.find(kernel.name());
  return found != seconds_.end() ? found->second : kernel.bytes_per_element * seconds_per_byte_;
}

}  // namespace kadam::plan
