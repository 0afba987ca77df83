import { runGuide } from "./run-guide.ts";

runGuide("run-a-tool-as-a-service", { servers: true });
