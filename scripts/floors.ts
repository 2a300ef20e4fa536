import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** One `import` or `export … from` of a file: what it names, and the repository's file behind it, if any. */
export interface Import {
  readonly from: string;
  readonly specifier: string;
  /** Path inside the repository; undefined for npm's and Node's own modules. */
  readonly to: string | undefined;
  /** `import type`: words to speak with, no code that runs. */
  readonly isType: boolean;
}

export interface FloorReport {
  readonly problems: string[];
  readonly imports: Import[];
}

const importForms = [
  /^\s*(?:import|export)\s[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g,
];

const services = new Set(['identity', 'coordination']);
/** Packages that know Baton only through its wire contract. */
const clients = new Set(['cli', 'mcp', 'console']);

/**
 * Checks that every file imports its own floor or a lower one (ARCHITECTURE.md, "Floors").
 * @param root the repository; @param files paths of TypeScript files inside it
 */
export function checkFloors(root: string, files: readonly string[]): FloorReport {
  const imports = files.flatMap((file) => importsOf(root, file));
  const problems = imports.flatMap((one) => {
    const reason = forbidden(one);
    return reason === undefined ? [] : [`${one.from} imports ${one.specifier}: ${reason}`];
  });
  return { problems: [...problems, ...featureCycles(imports), ...environmentReaders(root, files)], imports };
}

function importsOf(root: string, from: string): Import[] {
  const text = readFileSync(join(root, from), 'utf8');
  return importForms
    .flatMap((form) => [...text.matchAll(form)])
    .map(([statement, specifier = '']) => ({
      from,
      specifier,
      to: resolve(from, specifier),
      isType: /^\s*(import|export) type\b/.test(statement),
    }));
}

/** `@baton/kernel/http` is `packages/kernel/src/http.ts`: that is what the packages' `exports` say. */
function resolve(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier));
  const [, name, path] = /^@baton\/([^/]+)\/(.+)$/.exec(specifier) ?? [];
  return name === undefined ? undefined : `packages/${name}/src/${path}.ts`;
}

interface Place {
  /** The package, or undefined outside `packages/`. */
  readonly pack: string | undefined;
  /** The feature folder inside a service. */
  readonly feature: string | undefined;
  readonly floor: number;
  readonly isTesting: boolean;
}

function placeOf(file: string): Place {
  const [, pack, path = ''] = /^packages\/([^/]+)\/src\/(.+)$/.exec(file) ?? [];
  const feature = pack !== undefined && services.has(pack) ? /^([^/]+)\//.exec(path)?.[1] : undefined;
  const isTesting = file.endsWith('.test.ts') || feature === 'testing' || /(^|\/)testing\//.test(path);
  if (pack === 'kernel') return { pack, feature: undefined, floor: 0, isTesting };
  if (pack === 'platform') return { pack, feature: undefined, floor: 4, isTesting };
  if (pack === undefined || !services.has(pack)) return { pack, feature: undefined, floor: 4, isTesting };
  if (feature !== undefined) return { pack, feature, floor: 2, isTesting };
  const isTop = /^(app|endpoints|runtime|describe|worker|background|.*\.main|main)\.ts$/.test(path);
  return { pack, feature: undefined, floor: isTop ? 3 : 1, isTesting };
}

/**
 * Why an import is not allowed, or undefined. Inside its package a test may use anything, and a type may come from
 * anywhere: it moves no code.
 */
function forbidden({ from, to, specifier, isType }: Import): string | undefined {
  const here = placeOf(from);
  if (specifier.startsWith('@baton/') && to === undefined) return 'it names no module of that package';
  if (to === undefined || here.pack === undefined) return undefined;
  const there = placeOf(to);
  if (there.pack === undefined)
    return here.pack === 'platform' || here.isTesting
      ? undefined
      : 'a package uses nothing outside packages/';
  if (here.pack !== there.pack) return betweenPackages(here, there, specifier);
  if (here.isTesting) return undefined;
  if (there.isTesting) return 'test support is for tests';
  if (isType) return undefined;
  if (there.floor > here.floor) return `floor ${here.floor} may not use floor ${there.floor}`;
  const isOtherFeature = there.feature !== undefined && there.feature !== here.feature;
  if (isOtherFeature && here.floor === 2 && /\.(sql|api)\.ts$/.test(to))
    return `of another feature only the bare module may be used, not its ${/\.(sql|api)\.ts$/.exec(to)?.[1]} file`;
  return undefined;
}

function betweenPackages(here: Place, there: Place, specifier: string): string | undefined {
  const [from, to] = [here.pack as string, there.pack as string];
  if (!specifier.startsWith('@baton/')) return 'another package is imported by its name';
  if (from === 'platform') return undefined;
  if (there.isTesting && here.isTesting) return undefined;
  if (clients.has(from)) return to === 'sdk' ? undefined : 'a client uses the sdk only';
  if (services.has(from)) return to === 'kernel' ? undefined : 'a service uses the kernel only';
  return `${from} may not use ${to}`;
}

/** Feature folders that need each other can't be read, changed or moved one by one. */
function featureCycles(imports: readonly Import[]): string[] {
  const uses = new Map<string, Set<string>>();
  for (const { from, to, isType } of imports) {
    if (isType) continue;
    const [here, there] = [placeOf(from), to === undefined ? undefined : placeOf(to)];
    if (here.feature === undefined || there?.feature === undefined || here.isTesting || there.isTesting)
      continue;
    if (here.pack !== there.pack || here.feature === there.feature) continue;
    const key = `${here.pack}/${here.feature}`;
    uses.set(key, (uses.get(key) ?? new Set()).add(`${there.pack}/${there.feature}`));
  }
  const found = new Map<string, string>();
  const walk = (path: readonly string[]) => {
    for (const next of uses.get(path.at(-1) as string) ?? []) {
      const start = path.indexOf(next);
      if (start < 0) walk([...path, next]);
      else {
        const cycle = path.slice(start);
        found.set([...cycle].sort().join(), `feature folders form a cycle: ${[...cycle, next].join(' -> ')}`);
      }
    }
  };
  for (const feature of uses.keys()) walk([feature]);
  return [...found.values()];
}

/** Settings are read in one place of each package, where each has a default, a unit and a sentence. */
function environmentReaders(root: string, files: readonly string[]): string[] {
  const mayRead =
    /(^|\/)(config\.ts|main\.ts|[^/]+\.main\.ts)$|^(scripts|bench|e2e)\/|^packages\/platform\/|\/testing\/|\.test\.ts$/;
  return files
    .filter((file) => !mayRead.test(file) && /\bprocess\.env\b/.test(readFileSync(join(root, file), 'utf8')))
    .map((file) => `${file} reads process.env: only config.ts and main files do`);
}
