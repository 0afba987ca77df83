// What an agent remembers of its earlier turns, as a resource or a profile says it.

import { MEMORY_CHARACTERS_MAX, MEMORY_DEFAULT, MEMORY_TURNS_MAX, type MemoryPolicy } from "../profile.ts";
import { mappingAt, numberAt } from "./fields.ts";
import type { Mapping, ResourceReading } from "./resource-reading.ts";

const MEMORY_KEYS: ReadonlySet<string> = new Set(["turns", "characters"]);

/** Undefined: nothing was said. A field that is left out has its default. */
export function memoryAt(reading: ResourceReading, mapping: Mapping): MemoryPolicy | undefined {
  const memory = mappingAt(reading, mapping, "memory");
  if (memory === undefined) return undefined;
  reading.refuseOthers(memory, MEMORY_KEYS);
  const turns = numberAt(reading, memory, "turns", { min: 0, max: MEMORY_TURNS_MAX });
  const characters = numberAt(reading, memory, "characters", { min: 1, max: MEMORY_CHARACTERS_MAX });
  return { turns: turns ?? MEMORY_DEFAULT.turns, characters: characters ?? MEMORY_DEFAULT.characters };
}
