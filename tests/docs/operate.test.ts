import { runGuide } from "./run-guide.ts";

runGuide("operate");
