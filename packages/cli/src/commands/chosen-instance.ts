// Which instance of an agent a task is for, and whether that one is to remember what was before, as flags say it.

export interface InstanceFlags {
  readonly instance?: string;
  readonly fresh?: boolean;
}

export function instanceIn({ instance, fresh }: InstanceFlags) {
  return {
    ...(instance === undefined ? {} : { instanceKey: instance }),
    ...(fresh === true ? { isFresh: true } : {}),
  };
}
