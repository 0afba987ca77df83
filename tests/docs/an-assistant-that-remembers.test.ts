import { runGuide } from "./run-guide.ts";

runGuide("an-assistant-that-remembers");
