// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/cost/cost.hpp>

#include <cstddef>

namespace kadam {

/// Told of exchanges as they happen: what a timeline is drawn from.
///
/// Calls come from whichever thread exchanges: that of a background exchange calls at any time. They are on
/// the way of every message, and must be short.
class ExchangeObserver {
 public:
  ExchangeObserver() = default;
  ExchangeObserver(const ExchangeObserver&) = delete;
  ExchangeObserver& operator=(const ExchangeObserver&) = delete;
  virtual ~ExchangeObserver() = default;

  virtual void exchange_begins(Traffic traffic) = 0;
  /// A message is given to the transport.
  virtual void sends(Traffic traffic, int to, std::size_t bytes) = 0;
  virtual void has_arrived(Traffic traffic, int from, std::size_t bytes) = 0;
  virtual void exchange_ends(Traffic traffic) = 0;
};

}  // namespace kadam
