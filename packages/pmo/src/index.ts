// @tessera/pmo: the internal tools with which agents give work to one another, and the batches behind fork_join.
//
//   startPmo   answers `cmd.sys.pmo.internal.*`, carries batches on, stops the children of stopped turns (any number of
//              PMOs, no leader)

export { type Pmo, type PmoOptions, startPmo } from "./pmo.ts";
