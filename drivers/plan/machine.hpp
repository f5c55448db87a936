// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/cost/cost.hpp>
#include <kadam/cost/kernels.hpp>

#include <map>
#include <string>
#include <vector>

/// The model of a machine: its network, and the speed of its kernels.
namespace kadam::plan {

/// Figures of a network: hosts with one link each, and the ranks on them.
///
/// All figures are per direction: a link that sends and receives at once needs no more time. Rates are those
/// that programs reach, not nominal ones.
struct Network {
  double latency_seconds = 50e-6;      ///< of a message between hosts
  double message_seconds = 2e-6;       ///< time of a rank per message, beside its bytes
  double link_bytes_per_second = 0.0;  ///< of a host's link, which all ranks of the host share
  int ranks_per_node = 1;              ///< on each host
  double node_latency_seconds = 1e-6;  ///< of a message inside a host
  /// Rate from each rank to the others of its host while all of them send; not used with one rank on each
  /// host.
  double node_bytes_per_second = 0.0;

  /// Errors: std::invalid_argument that names a figure that is not possible.
  void validate() const;

  [[nodiscard]] int nodes(int ranks) const { return (ranks + ranks_per_node - 1) / ranks_per_node; }
  /// The network that an exchange between nodes sees. The ranks with the same number in their nodes exchange,
  /// all numbers at once: so each host has one rank, with its share of the link.
  [[nodiscard]] Network between_nodes() const;
};

/// Seconds of a transfer in which each of n ranks sends transfer.bytes, in equal messages directly to all
/// others:
///
///   latency + (n - 1) least_messages message + max(g out / link, in / node)
///
/// with g ranks on a host, which share its link. Of a rank's bytes, out = bytes (n - g)/(n - 1) leave the
/// host and in = bytes - out stay. latency is the network's if the ranks span hosts, else the node's. An
/// all-gather of Traffic::control, a few numbers on which ranks agree, goes by doubling: log2 n (latency +
/// message) instead. Worked number: n = 8, g = 4, 100 us, 10 us, 12.5 MB/s, 1.4 MB: 3.2 MB of a
/// host cross its link, 0.25617 s.
[[nodiscard]] double transfer_seconds(const Network& network, int ranks, const Transfer& transfer);
/// The part of transfer_seconds() that the number of messages causes, whatever their bytes. Worked number: 70
/// us of those above.
[[nodiscard]] double message_seconds(const Network& network, int ranks, const Transfer& transfer);

/// All kernels that a calibration measures: the plain ones of kadam/cost, and those of each code.
[[nodiscard]] const std::vector<Kernel>& calibrated_kernels();

/// Seconds per element of every kernel on one rank, while the other ranks of its node compute as well.
class KernelCosts {
 public:
  /// Costs on a machine of which only the memory's rate is known: every kernel takes the time of the bytes
  /// that it must move. Worked number: 100 GB/s: Adam's update of 28 B takes 0.28 ns per element. Errors:
  /// std::invalid_argument unless > 0.
  [[nodiscard]] static KernelCosts at_memory_speed(double bytes_per_second);

  /// Errors: std::invalid_argument unless finite and not negative.
  void set(const Kernel& kernel, double seconds_per_element);
  /// Kernels that are not set take as long per byte as this one, which must be set.
  void take_others_as(const Kernel& kernel);
  [[nodiscard]] double per_element(const Kernel& kernel) const;

 private:
  std::map<std::string, double> seconds_;
  double seconds_per_byte_ = 0.0;  ///< of kernels that are not set
};

}  // namespace kadam::plan
