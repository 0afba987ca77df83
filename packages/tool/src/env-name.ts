// Which environment variables of an executor a tool's definition may ask for. The value becomes an argument
// of the tool, so the author of a definition could otherwise read whatever the executor was started with.
//
//   E1. Variables that steer a process, a loader or an interpreter, and those that Tessera itself is configured by, are
//       refused everywhere, whatever an operator allows.
//   E2. Names are compared in capitals: Windows does not distinguish `Path` from `PATH`.

import { errorOf } from "@tessera/protocol";

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

// biome-ignore format: a list of names reads best in lines
const REFUSED_NAMES: ReadonlySet<string> = new Set([
  "PATH", "HOME", "USER", "LOGNAME", "SHELL", "SHELLOPTS", "BASHOPTS", "IFS", "ENV", "BASH_ENV", "PWD", "OLDPWD", "CDPATH",
  "PS4", "PROMPT_COMMAND", "EDITOR", "VISUAL", "PAGER", "TMPDIR", "TEMP", "TMP", "COMSPEC", "PATHEXT", "SYSTEMROOT", "WINDIR",
  "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "OPENSSL_CONF",
  "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "GCONV_PATH", "LOCPATH", "HOSTALIASES", "RES_OPTIONS",
  "SSH_AUTH_SOCK", "DATABASE_URL", "KUBECONFIG", "DOCKER_HOST", "CREDENTIALS_DIRECTORY",
]);
const REFUSED_PREFIXES =
  /^(?:NODE_|LD_|DYLD_|PYTHON|PERL|RUBY|GEM_|BUNDLE_|GIT_|TESSERA_|PG|NATS_|NPM_|YARN_|PNPM_|BUN_|DENO_|LUA_|PHP_|DOTNET_|COR_|MALLOC_|GLIBC_|BASH_FUNC_|SUDO_|XDG_|SYSTEMD_)/;

export function isEnvName(name: string): boolean {
  return ENV_NAME.test(name);
}

/** Refuses a name with `env_not_allowed`. With a list, only what it names is allowed, and never what E1 refuses. */
export function checkEnvName(name: unknown, pointer: string, allowed?: readonly string[]): void {
  const refusal = refusalOf(name, allowed);
  if (refusal === null) return;
  throw errorOf("env_not_allowed", `${pointer} ${refusal}`, { details: { pointer } });
}

/** For an executor that decides again before it reads the variable. */
export function isEnvAllowed(name: unknown, allowed?: readonly string[]): name is string {
  return refusalOf(name, allowed) === null;
}

function refusalOf(name: unknown, allowed: readonly string[] | undefined): string | null {
  if (typeof name !== "string" || !isEnvName(name)) return "must be the name of an environment variable";
  const upper = name.toUpperCase(); // E2
  if (REFUSED_NAMES.has(upper) || REFUSED_PREFIXES.test(upper)) return `asks for ${name}, which no tool may have`; // E1
  if (allowed !== undefined && !allowed.includes(name)) return `asks for ${name}, which is not on the allow-list`;
  return null;
}
