// A tool as one function: it runs in the worker's own process.

import { defineTool } from "@tessera/tool";

const freeDay = defineTool({
  name: "calendar__free_day",
  description: "Says which day of this week is free.",
  effect: "read",
  handler: () => ({ day: "Saturday" }),
});

export default { tools: [freeDay] };
