// What a compiled file imports, and the same file with other names for it.

import { init, parse } from "es-module-lexer";

await init;

interface Found {
  readonly specifier: string;
  readonly from: number;
  readonly to: number;
}

/** As tsc prints declarations: an import or export ends its line, or is part of a type. */
const IN_DECLARATIONS = /^(?:import|export|\}).*? from "([^"\n]+)";$|^import "([^"\n]+)";$|\bimport\("([^"\n]+)"\)/gm;

/** Files that are started as a thread or a process of their own, beside the one that names them. */
const STARTED = /new URL\(`(\.\/[\w-]+)\$\{extname\(import\.meta\.url\)\}`, import\.meta\.url\)/g;

export function specifiersOf(file: string, text: string): string[] {
  return found(file, text).map(({ specifier }) => specifier);
}

export function startedBy(text: string): string[] {
  return [...text.matchAll(STARTED)].map(([, path = ""]) => path);
}

export function withSpecifiers(file: string, text: string, rename: (specifier: string) => string): string {
  let renamed = "";
  let at = 0;
  for (const { specifier, from, to } of found(file, text)) {
    renamed += text.slice(at, from) + rename(specifier);
    at = to;
  }
  return renamed + text.slice(at);
}

function found(file: string, text: string): Found[] {
  return file.endsWith(".d.ts") ? foundInDeclarations(text) : foundInCode(file, text);
}

function foundInCode(file: string, text: string): Found[] {
  const [imports] = parse(text, file);
  return imports.flatMap(({ n: specifier, s, e, d }) => {
    if (specifier === undefined) return []; // import.meta, or computed: the code of others, which has no name here
    const quote = d === -1 ? 0 : 1;
    return [{ specifier, from: s + quote, to: e - quote }];
  });
}

function foundInDeclarations(text: string): Found[] {
  return [...text.matchAll(IN_DECLARATIONS)].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? "";
    const from = match.index + match[0].lastIndexOf(`"${specifier}"`) + 1;
    return { specifier, from, to: from + specifier.length };
  });
}
