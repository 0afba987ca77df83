import { runGuide } from "./run-guide.ts";

runGuide("run-at-scale", { servers: true });
