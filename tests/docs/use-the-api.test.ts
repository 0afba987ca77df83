import { runGuide } from "./run-guide.ts";

runGuide("use-the-api");
