// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/c_api/guarded.hpp>
#include <kadam/c_api/optimizer.hpp>
#include <kadam/comm/socket_communicator.hpp>
#include <kadam/config.hpp>

#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#ifdef KADAM_ENABLE_CHECKPOINT

using kadam::c_api::Failure;
using kadam::c_api::guarded;
using kadam::c_api::program_of;
using kadam::c_api::usable;

kadam_status kadam_keep_snapshots(kadam_optimizer* optimizer, const float* parameters, int64_t every,
                                  int64_t spread, const char* words, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    const kadam::Parameters own = of.in(const_cast<float*>(parameters));
    of.snapshots.emplace(*of.optimizer, kadam::checkpoint::SnapshotOptions{every, spread});
    of.snapshots->take(of.exec, *of.optimizer, own.master(), program_of(words));
  });
}

kadam_status kadam_after_step(kadam_optimizer* optimizer, const float* parameters, const char* words,
                              kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    if (!of.snapshots) return;
    if (!of.snapshots->is_due(of.optimizer->steps_taken())) {
      of.snapshots->after_step();
      return;
    }
    const kadam::Parameters own = of.in(const_cast<float*>(parameters));
    of.snapshots->after_step(of.exec, *of.optimizer, own.master(), program_of(words));
  });
}

namespace {

using kadam::checkpoint::Snapshots;

/// A function that makes the optimizer anew for other ranks. `of` must outlive it.
Snapshots::MakeOptimizer maker_for(kadam_optimizer& of) {
  return [&of](const std::shared_ptr<kadam::Communicator>& ranks) -> kadam::Optimizer& {
    of.optimizer = of.setup.make(ranks);
    return *of.optimizer;
  };
}

/// Writes to *survivors, unless it is null, which ranks there are now.
void tell(const kadam_optimizer& of, std::size_t lost, kadam_survivors* survivors) {
  const kadam::Communicator& ranks = of.optimizer->communicator();
  if (survivors != nullptr)
    *survivors = {of.optimizer->steps_taken(), ranks.rank(), ranks.size(), static_cast<std::int32_t>(lost)};
}

/// Gives the caller what was restored: parameters, words, ranks.
void adopt(kadam_optimizer& of, const Snapshots::Restored& restored, const kadam::Parameters& own,
           float* parameters, kadam_survivors* survivors) {
  of.give_back(own, parameters);
  of.words = kadam::c_api::words_of(restored.program);
  tell(of, restored.lost.size(), survivors);
}

void require_snapshots(const kadam_optimizer& of, const char* call) {
  if (!of.snapshots)
    throw Failure(KADAM_NO_SNAPSHOT,
                  std::string(call) + ": no snapshots are kept: call kadam_keep_snapshots() first");
}

}  // namespace

kadam_status kadam_go_on(kadam_optimizer* optimizer, float* parameters, kadam_survivors* survivors,
                         kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    require_snapshots(of, "kadam_go_on");
    const kadam::Parameters own = of.in(parameters);
    try {
      adopt(of, of.snapshots->go_on(of.exec, *of.optimizer, own, maker_for(of)), own, parameters, survivors);
    } catch (const kadam::checkpoint::SnapshotLost& lost) {
      tell(of, 0, survivors);
      throw Failure(KADAM_NO_SNAPSHOT, lost.what());
    }
  });
}

int kadam_has_newcomers(const kadam_optimizer* optimizer) {
  return optimizer != nullptr && optimizer->snapshots && optimizer->snapshots->has_newcomers() ? 1 : 0;
}

kadam_status kadam_admit(kadam_optimizer* optimizer, float* parameters, const char* words,
                         kadam_survivors* ranks, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    require_snapshots(of, "kadam_admit");
    const kadam::Parameters own = of.in(parameters);
    const auto restored = of.snapshots->admit(of.exec, *of.optimizer, own, program_of(words), maker_for(of));
    if (restored) {
      adopt(of, *restored, own, parameters, ranks);
    } else {
      tell(of, 0, ranks);
    }
  });
}

kadam_status kadam_join(kadam_optimizer* optimizer, float* parameters, const char* doors, const char* host,
                        int64_t every, int64_t spread, kadam_survivors* ranks, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    std::istringstream in(&kadam::c_api::required(doors, "the text of doors"));
    const std::vector<std::string> addresses{std::istream_iterator<std::string>(in), {}};
    const kadam::Parameters own = of.in(parameters);
    of.snapshots.emplace(kadam::checkpoint::SnapshotOptions{every, spread});
    kadam::SocketOptions tcp;
    tcp.exchange = of.setup.exchange;
    if (host != nullptr) tcp.host = host;
    try {
      std::shared_ptr<kadam::Communicator> joined =
          kadam::join_socket_communicator(addresses, of.snapshots->kind_of(*of.optimizer), tcp);
      adopt(of, of.snapshots->restore_on(of.exec, std::move(joined), own, maker_for(of)), own, parameters,
            ranks);
    } catch (...) {
      of.snapshots.reset();
      throw;
    }
  });
}

#else

kadam_status kadam_keep_snapshots(kadam_optimizer* /*optimizer*/, const float* /*parameters*/,
                                  int64_t /*every*/, int64_t /*spread*/, const char* /*words*/,
                                  kadam_error* error) {
  return kadam::c_api::without_checkpoints(__func__, error);
}

kadam_status kadam_after_step(kadam_optimizer* /*optimizer*/, const float* /*parameters*/,
                              const char* /*words*/, kadam_error* error) {
  return kadam::c_api::report_success(error);  // none are kept
}

kadam_status kadam_go_on(kadam_optimizer* /*optimizer*/, float* /*parameters*/,
                         kadam_survivors* /*survivors*/, kadam_error* error) {
  return kadam::c_api::without_checkpoints(__func__, error);
}

int kadam_has_newcomers(const kadam_optimizer* /*optimizer*/) {
  return 0;
}

kadam_status kadam_admit(kadam_optimizer* /*optimizer*/, float* /*parameters*/, const char* /*words*/,
                         kadam_survivors* /*ranks*/, kadam_error* error) {
  return kadam::c_api::without_checkpoints(__func__, error);
}

kadam_status kadam_join(kadam_optimizer* /*optimizer*/, float* /*parameters*/, const char* /*doors*/,
                        const char* /*host*/, int64_t /*every*/, int64_t /*spread*/,
                        kadam_survivors* /*ranks*/, kadam_error* error) {
  return kadam::c_api::without_checkpoints(__func__, error);
}

#endif

const char* kadam_door(kadam_optimizer* optimizer) {
  if (optimizer == nullptr) return "";
  optimizer->door = optimizer->optimizer->communicator().door();
  return optimizer->door.c_str();
}
