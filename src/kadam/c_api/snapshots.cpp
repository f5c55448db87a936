// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/c_api/guarded.hpp>
#include <kadam/c_api/optimizer.hpp>
#include <kadam/config.hpp>

#include <memory>
#include <utility>

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

kadam_status kadam_go_on(kadam_optimizer* optimizer, float* parameters, kadam_survivors* survivors,
                         kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    if (!of.snapshots) throw Failure(KADAM_NO_SNAPSHOT, "kadam_go_on: call kadam_keep_snapshots() before");
    const kadam::Parameters own = of.in(parameters);
    const auto make = [&](const std::shared_ptr<kadam::Communicator>& left) -> kadam::Optimizer& {
      of.optimizer = of.setup.make(left);
      return *of.optimizer;
    };
    const auto tell = [&](std::size_t lost) {
      const kadam::Communicator& left = of.optimizer->communicator();
      if (survivors != nullptr)
        *survivors = {of.optimizer->steps_taken(), left.rank(), left.size(), static_cast<std::int32_t>(lost)};
    };
    try {
      const kadam::checkpoint::Snapshots::Restored restored =
          of.snapshots->go_on(of.exec, *of.optimizer, own, make);
      of.give_back(own, parameters);
      of.words = kadam::c_api::words_of(restored.program);
      tell(restored.lost.size());
    } catch (const kadam::checkpoint::SnapshotLost& lost) {
      tell(0);
      throw Failure(KADAM_NO_SNAPSHOT, lost.what());
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

#endif
