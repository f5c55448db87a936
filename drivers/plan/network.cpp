// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/network.hpp>

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
  require(std::isfinite(value) && value >= 0.0, figure, value, "seconds, 0 or more");
}

void require_rate(const char* figure, double value) {
  require(std::isfinite(value) && value > 0.0, figure, value, "bytes per second, more than 0");
}

/// The bytes of one rank, every other rank getting the same share, over links and inside hosts at once.
double direct_seconds(const Network& network, int ranks, int on_host, double bytes) {
  const double inside = static_cast<double>(on_host - 1) / static_cast<double>(ranks - 1);
  const double over_link = on_host * bytes * (1.0 - inside) / network.link_bytes_per_second;
  return std::max(over_link, bytes * inside / network.node_bytes_per_second);
}

/// Neighbours in the order of the hosts: one rank of a host sends through the link, the others inside.
double ring_seconds(const Network& network, bool spans_hosts, int on_host, double bytes) {
  return std::max(spans_hosts ? bytes / network.link_bytes_per_second : 0.0,
                  on_host > 1 ? bytes / network.node_bytes_per_second : 0.0);
}

}  // namespace

void Network::validate() const {
  require_seconds("latency", latency_seconds);
  require_seconds("seconds per message", message_seconds);
  require_rate("rate of a host's link", link_bytes_per_second);
  require(ranks_per_node > 0, "ranks per node", ranks_per_node, "1 or more");
  require_seconds("latency inside a node", node_latency_seconds);
  require_rate("rate inside a node", node_bytes_per_second);
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
  const auto bytes = static_cast<double>(transfer.bytes);
  const double direct = direct_seconds(network, ranks, on_host, bytes);
  if (transfer.pattern == Pattern::all_to_all) {
    return latency + (ranks - 1) * network.message_seconds + direct;
  }
  const double round = latency + network.message_seconds;
  // Its type is not the same in all standard libraries.
  const auto doublings = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  return std::min((ranks - 1) * round + ring_seconds(network, spans_hosts, on_host, bytes),
                  doublings * round + direct);
}

}  // namespace kadam::plan
