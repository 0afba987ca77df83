import { runGuide } from "./run-guide.ts";

runGuide("a-tool-in-another-language", { servers: true });
