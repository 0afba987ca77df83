// Items and outcomes of the l0 functions, field for field as in sql/functions, one file for each port. The header of each
// .sql file is the manual.

export type * from "../messages/announcements.ts";
export type * from "./batch-outcomes.ts";
export type * from "./call-outcomes.ts";
export type * from "./outcome-parts.ts";
export type * from "./turn-outcomes.ts";
