// The environment that an isolated tool sees, which reports variables that were read and are not there. They are not
// there on purpose (isolated-process.ts, P3), and a tool that expects one fails with words that name no cause.
//
//   E1. A read of a missing variable answers undefined, as without this; asking whether there is one is not reported at all.
//   E2. What programs and their libraries look for by habit is not reported: no operator would grant it.
//   E3. Reads of Node's own code are not the tool's: they are known by the file of their caller.

/** Colours, debugging, paths and sessions of a terminal, settings of Node and of loaders. */
const HABITS =
  /^(NODE_|JITI_|BABEL_|TSX_|NPM_|npm_|V8_|UV_|LC_|XDG_|SSL_CERT_|VITEST)|^(DEBUG|CI|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|USER|LOGNAME|SHELL|PWD|TMPDIR|TMP|TEMP|EDITOR|HOSTNAME|DISPLAY|COLUMNS|LINES|OS|PATHEXT|APPDATA|WSL_DISTRO_NAME|READABLE_STREAM)$/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

export function watchEnvironment(env: NodeJS.ProcessEnv, onMissing: (name: string) => void): NodeJS.ProcessEnv {
  return new Proxy(env, {
    get(target, key) {
      const value = Reflect.get(target, key) as string | undefined;
      if (value === undefined && typeof key === "string" && NAME.test(key) && !HABITS.test(key) && !isNodesOwn()) {
        onMissing(key);
      }
      return value;
    },
    // Without it a write would define a property as the language does, which an environment refuses.
    set: (target, key, value) => Reflect.set(target, key, value),
  });
}

/** E3. The frames are this function, the proxy's trap, and who read. */
function isNodesOwn(): boolean {
  const [, , , reader = ""] = String(new Error().stack).split("\n");
  return /\(?node:/.test(reader);
}
