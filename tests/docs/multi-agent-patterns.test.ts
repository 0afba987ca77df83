import { runGuide } from "./run-guide.ts";

runGuide("multi-agent-patterns");
