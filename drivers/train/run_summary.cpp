// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <train/run_summary.hpp>

#include <nlohmann/json.hpp>

namespace kadam::train {

nlohmann::ordered_json to_json(const RunSummary& run) {
  return {{"optimizer", run.algorithm},
          {"training_loss", run.training_loss},
          {"held_out_loss", run.held_out_loss},
          {"held_out_accuracy", run.accuracy},
          {"bytes_per_step", run.bytes_per_step},
          {"background_bytes_per_step", run.background_bytes_per_step},
          {"mean_bytes_per_step", run.mean_bytes_per_step},
          {"dense_bytes_per_step", run.dense_bytes_per_step},
          {"compute_seconds", run.seconds.compute},
          {"encode_seconds", run.seconds.encode},
          {"exchange_seconds", run.seconds.exchange},
          {"decode_seconds", run.seconds.decode},
          {"rest_seconds", run.seconds.rest},
          {"wait_seconds", run.seconds.wait},
          {"wall_seconds", run.wall_seconds},
          {"steps", run.steps},
          {"skipped_steps", run.skipped_steps}};
}

}  // namespace kadam::train
