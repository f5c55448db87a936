// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/gathers.hpp>
#include <kadam/comm/patience.hpp>

#include <algorithm>

namespace kadam {
namespace {

constexpr int tag_of_gathers = 0;
constexpr int tag_of_rolls = 1;

}  // namespace

bool gather_by_messages(Messages& messages, int rank, int ranks, std::byte* all, std::size_t bytes,
                        Seconds patience, std::vector<std::byte>& memory) {
  const auto own = static_cast<std::size_t>(rank);
  const auto count = static_cast<std::size_t>(ranks);
  memory.resize(count * bytes);
  std::copy_n(all + own * bytes, bytes, memory.data());
  Messages::Done done;
  for (std::size_t have = 1; have < count; have *= 2) {
    const std::size_t more = std::min(have, count - have) * bytes;
    messages.receive(static_cast<int>((own + have) % count), tag_of_gathers, memory.data() + have * bytes,
                     more, 0);
    messages.send(static_cast<int>((own + count - have) % count), tag_of_gathers, memory.data(), more,
                  SendMode::standard, 0);
    while (messages.receiving() + messages.sending() > 0) {
      done.clear();
      messages.progress(patience, done);
      if (done.empty()) return false;
    }
  }
  for (std::size_t k = 0; k < count; ++k)
    std::copy_n(memory.data() + k * bytes, bytes, all + (own + k) % count * bytes);
  return true;
}

std::vector<int> call_roll(Messages& messages, int rank, int ranks, Seconds patience) {
  constexpr std::byte here{1};
  std::vector<std::byte> heard(static_cast<std::size_t>(ranks));
  std::vector<bool> is_here(heard.size(), false);
  is_here[static_cast<std::size_t>(rank)] = true;
  for (int other = 0; other < ranks; ++other) {
    if (other == rank) continue;
    const auto place = static_cast<std::size_t>(other);
    messages.receive(other, tag_of_rolls, &heard[place], 1, place);
    messages.send(other, tag_of_rolls, &here, 1, SendMode::standard, place);
  }
  Messages::Done done;
  for (const Deadline deadline(patience); messages.receiving() > 0 && !deadline.has_passed();) {
    done.clear();
    messages.progress(deadline.left(), done);
    for (const Messages::Arrival& arrival : done.arrived) is_here[arrival.id] = true;
  }
  std::vector<int> missing;
  for (int other = 0; other < ranks; ++other) {
    if (!is_here[static_cast<std::size_t>(other)]) missing.push_back(other);
  }
  return missing;
}

}  // namespace kadam
