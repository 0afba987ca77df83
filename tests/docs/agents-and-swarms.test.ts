import { runGuide } from "./run-guide.ts";

runGuide("agents-and-swarms");
