// What many clients hold at once and none may hold whole: places that wait, open streams, bytes in memory.
//
//   S1. One key, one project (its administrator can make any number of keys) and, where it is asked for, one address have a bound
//       each. A key of no project is a tenant of its own.
//   S2. The last RESERVE of the whole is for tenants that hold nothing: whatever the others hold together, a newcomer gets in.
//   S3. A refusal changes nothing.

import type { ApiKeyIdentity } from "@tessera/kernel";

export interface Holder {
  readonly key: Pick<ApiKeyIdentity, "key_id" | "project_id">;
  readonly address: string;
}

export interface ShareLimits {
  readonly all: number;
  readonly perProject: number;
  readonly perKey: number;
  /** Default: no bound. */
  readonly perAddress?: number;
}

/** Whose bound stands in the way. */
export type Full = "all" | "project" | "key" | "address";

export interface Shares {
  /** Null: taken. */
  take(holder: Holder, amount?: number): Full | null;
  give(holder: Holder, amount?: number): void;
  /** What all hold together. */
  held(): number;
}

/** S2 */
const RESERVE = 0.2;

export function createShares(limits: ShareLimits): Shares {
  const { all, perProject, perKey, perAddress = Number.POSITIVE_INFINITY } = limits;
  const open = all - Math.floor(all * RESERVE);
  const holds = new Map<string, number>();
  let total = 0;
  const of = (name: string) => holds.get(name) ?? 0;

  function fullOf({ key, address }: Holder, amount: number): Full | null {
    if (of(keyName(key)) + amount > perKey) return "key"; // S1
    if (key.project_id !== null && of(projectName(key.project_id)) + amount > perProject) return "project";
    if (of(addressName(address)) + amount > perAddress) return "address";
    return total + amount > (of(tenantName(key)) === 0 ? all : open) ? "all" : null; // S2
  }

  function add(holder: Holder, amount: number): void {
    for (const name of namesOf(holder)) {
      const left = of(name) + amount;
      if (left <= 0) holds.delete(name);
      else holds.set(name, left);
    }
    total += amount;
  }

  return {
    take(holder, amount = 1) {
      const full = amount === 0 ? null : fullOf(holder, amount);
      if (full === null) add(holder, amount); // S3
      return full;
    },
    give: (holder, amount = 1) => add(holder, -amount),
    held: () => total,
  };
}

const keyName = ({ key_id }: Holder["key"]): string => `key/${key_id}`;
const projectName = (projectId: string): string => `project/${projectId}`;
const addressName = (address: string): string => `address/${address}`;
const tenantName = (key: Holder["key"]): string =>
  key.project_id === null ? keyName(key) : projectName(key.project_id);

function namesOf({ key, address }: Holder): string[] {
  const names = [keyName(key), addressName(address)];
  if (key.project_id !== null) names.push(projectName(key.project_id));
  return names;
}
