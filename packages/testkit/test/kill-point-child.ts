// A child process of the kill-point tests: passes one point five times and says so after each.

import { writeSync } from "node:fs";
import { killPointsFromEnvironment } from "@tessera/testkit/kill-points";

const points = killPointsFromEnvironment();
for (let passed = 1; passed <= 5; passed++) {
  await points.at("report.after_commit");
  writeSync(1, `${JSON.stringify({ passed })}\n`);
}
