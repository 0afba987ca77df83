import { runGuide } from "./run-guide.ts";

runGuide("use-a-real-model");
