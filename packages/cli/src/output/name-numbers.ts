// Numbers that tell apart what has the same name: two turns of one agent, two calls of one tool.
//
//   N1. A number is given once and stays. The first of a name gets one only where others of it are seen with it: what was
//       shown without a number is not shown with one later.

export interface NameNumbers {
  /** For names that are seen together; null: none is needed. */
  of(names: readonly string[]): readonly (number | null)[];
}

export function createNameNumbers(): NameNumbers {
  const used = new Map<string, number>();
  return {
    of(names) {
      const isAlone = names.map((name) => !used.has(name) && names.filter((other) => other === name).length === 1);
      return names.map((name, n) => {
        const number = (used.get(name) ?? 0) + 1;
        used.set(name, number);
        return isAlone[n] === true ? null : number; // N1
      });
    },
  };
}

export function numbered(name: string, number: number | null | undefined): string {
  return number === null || number === undefined ? name : `${name}#${number}`;
}
