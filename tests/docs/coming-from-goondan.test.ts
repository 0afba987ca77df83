import { runGuide } from "./run-guide.ts";

runGuide("coming-from-goondan");
