// The system calls that a confined command does not have, as a seccomp program for bubblewrap.
//
//   F1. No user namespace of its own: in one it would have every right to mount file systems, which no limit counts.
//   F2. No memory that belongs to no process (memfd, System V segments, files grown without writing): the watched total would
//       not see it (watch.ts).
//   F3. Calls of another architecture have other numbers; there are none.
//   F4. No io_uring: what is asked of it (F2's calls among it) passes no filter.
//
// Programs that call one get the error that it does not exist, and fall back where they can.

const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const EOPNOTSUPP = 95;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_BITS = 0x45;
const RETURN = 0x06;

const AT = { number: 0, architecture: 4, firstArgument: 16 };
const CLONE_NEWUSER = 0x10000000;
/** x86-64 only: numbers from here on are the x32 variant's. */
const X32 = 0x40000000;

interface Architecture {
  readonly audit: number;
  /** Refused where the first argument asks for a user namespace. */
  readonly namespaces: readonly number[];
  readonly refused: readonly (readonly [number: number, errno: number])[];
}

/** F4: setup, enter and register. Calls as young as these have one number on all architectures. */
const IO_URING = [
  [425, ENOSYS],
  [426, ENOSYS],
  [427, ENOSYS],
] as const;

// clone3 hides its flags behind a pointer; libraries fall back to clone.
const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    namespaces: [56, 272], // clone, unshare
    refused: [
      [435, ENOSYS], // clone3
      [308, EPERM], // setns
      [319, ENOSYS], // memfd_create
      [447, ENOSYS], // memfd_secret
      [29, ENOSYS], // shmget
      [285, EOPNOTSUPP], // fallocate
      ...IO_URING,
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    namespaces: [220, 97],
    refused: [[435, ENOSYS], [268, EPERM], [279, ENOSYS], [447, ENOSYS], [194, ENOSYS], [47, EOPNOTSUPP], ...IO_URING],
  },
};

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** Null: this architecture's numbers are not known here, and the probe says that the sandbox is not tight. */
export function systemCallFilter(architecture: string = process.arch): Uint8Array | null {
  const known = ARCHITECTURES[architecture];
  if (known === undefined) return null;
  const program: Instruction[] = [
    [LOAD, 0, 0, AT.architecture],
    [JUMP_EQUAL, 1, 0, known.audit],
    [RETURN, 0, 0, ERRNO | ENOSYS], // F3
    [LOAD, 0, 0, AT.number],
    [JUMP_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, ERRNO | ENOSYS], // F3
  ];
  for (const [number, errno] of known.refused) {
    program.push([JUMP_EQUAL, 0, 1, number], [RETURN, 0, 0, ERRNO | errno]);
  }
  for (const number of known.namespaces) {
    program.push(
      [JUMP_EQUAL, 0, 4, number],
      [LOAD, 0, 0, AT.firstArgument],
      [JUMP_BITS, 0, 1, CLONE_NEWUSER],
      [RETURN, 0, 0, ERRNO | EPERM], // F1
      [RETURN, 0, 0, ALLOW],
    );
  }
  program.push([RETURN, 0, 0, ALLOW]);
  return encode(program);
}

/** `struct sock_filter`, as both architectures lay it out. */
function encode(program: readonly Instruction[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(program.length * 8));
  program.forEach(([code, ifTrue, ifFalse, value], index) => {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, ifTrue);
    view.setUint8(index * 8 + 3, ifFalse);
    view.setUint32(index * 8 + 4, value, true);
  });
  return new Uint8Array(view.buffer);
}
