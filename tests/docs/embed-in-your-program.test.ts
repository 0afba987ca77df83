import { runGuide } from "./run-guide.ts";

runGuide("embed-in-your-program");
