import { runGuide } from "./run-guide.ts";

runGuide("quick-start");
