import { runGuide } from "./run-guide.ts";

runGuide("write-a-tool");
