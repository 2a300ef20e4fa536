import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { findCycles } from './cycles.ts';

/** The layers of each service, lowest first. A file imports its own layer or a lower one. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  identity: ['service', 'records', 'directory', 'credentials', 'issuing', 'sign-in', 'provisioning', 'app'],
  coordination: [
    'service',
    'ledger',
    'leases',
    'access',
    'organisation',
    'definitions',
    'work',
    'execution',
    'results',
    'memory',
    'registry',
    'rules',
    'processes',
    'packages',
    'notifications',
    'app',
  ],
};

/** The maximum number of files in one folder of a service, without tests and test support. */
export const folderFilesMax = 15;
/** The maximum number of feature folders directly in one layer. */
export const layerFeaturesMax = 12;

/** The packages that each package may use, except in tests. A package that isn't listed may use none. */
const usable: Readonly<Record<string, readonly string[]>> = {
  values: [],
  'process-engine': ['values'],
  kernel: ['values'],
  demo: ['sdk', 'values'],
  cli: ['demo', 'sdk', 'values'],
  mcp: ['sdk', 'values'],
  runner: ['sdk', 'values'],
  identity: ['kernel', 'values'],
  coordination: ['kernel', 'process-engine', 'values'],
};

/** The Node modules that each package without a database, a network and a file system may use. */
const pure = new Set(['values', 'process-engine']);
const pureModules = new Set(['node:crypto', 'node:net', 'node:util']);
const impurePackages = new Set(['fastify', 'kysely', 'pg', 'pino']);

/** Packages that know Baton only through its wire contract. */
const clients = new Set(['cli', 'demo', 'mcp', 'runner', 'console']);

/** One `import` or `export … from` of a file: its specifier, and the repository's file for it, if any. */
export interface Import {
  readonly from: string;
  readonly specifier: string;
  /** Path inside the repository; undefined for npm's and Node's own modules. */
  readonly to: string | undefined;
}

export interface LayerReport {
  readonly problems: string[];
  readonly imports: Import[];
}

/**
 * Checks imports between layers and packages. An `import type` counts too, because it couples two files like any
 * other import.
 * @param root the repository; @param files paths of TypeScript files inside it
 */
export function checkLayers(root: string, files: readonly string[]): LayerReport {
  const imports = readImports(root, files);
  const refused = imports.flatMap((one) => {
    const reason = forbidden(one);
    return reason === undefined ? [] : [`${one.from} imports ${one.specifier}: ${reason}`];
  });
  const problems = [
    ...unlistedFolders(files),
    ...refused,
    ...featureCycles(imports),
    ...fileCycles(imports),
    ...crowdedFolders(files),
    ...crowdedLayers(files),
    ...environmentReaders(root, files),
    ...statementsElsewhere(root, files),
  ];
  return { problems: [...new Set(problems)], imports };
}

const importForms = [
  /^\s*(?:import|export)\s[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g,
];

/** Returns every import of these files. @param files paths inside `root` */
export function readImports(root: string, files: readonly string[]): Import[] {
  return files.flatMap((file) => importsOf(root, file));
}

function importsOf(root: string, from: string): Import[] {
  const text = readFileSync(join(root, from), 'utf8');
  return importForms
    .flatMap((form) => [...text.matchAll(form)])
    .map(([, specifier = '']) => ({ from, specifier, to: resolve(from, specifier) }));
}

/**
 * `@baton/kernel/http/http` is `packages/kernel/src/http/http.ts`, and `@baton/sdk` its index: by the packages'
 * `exports`.
 */
function resolve(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier));
  const [, name, path = 'index'] = /^@baton\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? [];
  return name === undefined ? undefined : `packages/${name}/src/${path}.ts`;
}

interface Place {
  /** The package, or undefined outside `packages/`. */
  readonly pack: string | undefined;
  /** The first folder under a service's `src`; undefined elsewhere, and for test support. */
  readonly layer: string | undefined;
  /** The folders below the layer; empty for the layer's own files. */
  readonly feature: string;
  readonly isTesting: boolean;
}

function placeOf(file: string): Place {
  const [, pack, path = ''] = /^packages\/([^/]+)\/src\/(.+)$/.exec(file) ?? [];
  const isTesting = /(\.test|\.fixtures)\.ts$|(^|\/)testing\//.test(file);
  const isService = pack !== undefined && layers[pack] !== undefined;
  if (!isService || path.startsWith('testing/')) return { pack, layer: undefined, feature: '', isTesting };
  const [layer, ...below] = dirname(path).split('/') as [string, ...string[]];
  return { pack, layer, feature: below.filter((name) => name !== 'testing').join('/'), isTesting };
}

/** The reason why an import is not allowed, or undefined. A test may import anything inside its own package. */
function forbidden({ from, to, specifier }: Import): string | undefined {
  const here = placeOf(from);
  if (specifier.startsWith('@baton/') && to === undefined) return 'it names no module of that package';
  if (to === undefined) return here.isTesting ? undefined : impureModule(here, specifier);
  const there = placeOf(to);
  if (here.pack !== there.pack && there.pack !== undefined && !specifier.startsWith('@baton/'))
    return 'another package is imported by its name';
  if (here.pack === undefined) return undefined;
  if (there.pack === undefined) {
    if (to.startsWith('e2e/')) return 'e2e is above the packages: shared code belongs in packages/testing';
    return here.pack === 'platform' || here.isTesting || /\/bin\/(?:lock|invocation)\.mjs$/.test(specifier)
      ? undefined
      : 'a package uses nothing outside packages/';
  }
  if (here.pack !== there.pack) return betweenPackages(here, there);
  if (here.isTesting) return undefined;
  if (there.isTesting) return 'test support is for tests';
  return betweenLayers(here, there) ?? privateModule(here, there, from, to);
}

function betweenPackages(here: Place, there: Place): string | undefined {
  const [from, to] = [here.pack as string, there.pack as string];
  if (there.isTesting) return here.isTesting ? undefined : 'test support is for tests';
  if (from === 'platform') return undefined;
  if (usable[from]?.includes(to)) return undefined;
  if (clients.has(from) || from === 'testing') return to === 'sdk' ? undefined : 'a client uses the sdk only';
  return `${from} may not use ${to}`;
}

/**
 * A pure package only computes: it reads no files, opens no connections, and reads no clock. `node:net` is allowed
 * because it is used only to parse addresses.
 */
function impureModule({ pack }: Place, specifier: string): string | undefined {
  if (pack === undefined || !pure.has(pack)) return undefined;
  const isRefused = specifier.startsWith('node:')
    ? !pureModules.has(specifier)
    : impurePackages.has(specifier.split('/')[0] as string);
  return isRefused ? `${pack} runs without a database, a network and a file system` : undefined;
}

function betweenLayers(here: Place, there: Place): string | undefined {
  if (here.layer === undefined || there.layer === undefined) return undefined;
  const order = layers[here.pack as string] ?? [];
  const [low, high] = [order.indexOf(here.layer), order.indexOf(there.layer)];
  // A layer that isn't in the list is reported separately.
  if (low < 0 || high <= low) return undefined;
  return `layer ${there.layer} is above layer ${here.layer}`;
}

/**
 * Only the feature itself may import its statements, and only the list of all endpoints may import its endpoint
 * declarations.
 */
function privateModule(here: Place, there: Place, from: string, to: string): string | undefined {
  if (here.layer === undefined) return undefined;
  if (to.endsWith('.api.ts') && from !== `packages/${here.pack}/src/app/endpoints.ts`)
    return 'only app/endpoints.ts and tests import declarations of endpoints';
  const isOwn = here.layer === there.layer && here.feature === there.feature;
  return to.endsWith('.sql.ts') && !isOwn
    ? 'the statements of a feature are for itself and tests'
    : undefined;
}

/** Every folder of a service's `src` must be a listed layer, and every file must be in one of them. */
function unlistedFolders(files: readonly string[]): string[] {
  const unlisted = files.flatMap((file) => {
    const { pack, layer } = placeOf(file);
    if (pack === undefined || layer === undefined || layers[pack]?.includes(layer)) return [];
    if (layer === '.') return [`${file} is in no layer: move it into one`];
    return [`packages/${pack}/src/${layer} is no layer: give it its place in the list in scripts/layers.ts`];
  });
  return [...new Set(unlisted)];
}

/** Feature folders of one layer that depend on each other can't be read, changed or moved separately. */
function featureCycles(imports: readonly Import[]): string[] {
  const edges = imports.flatMap(({ from, to }): [string, string][] => {
    const [here, there] = [placeOf(from), to === undefined ? undefined : placeOf(to)];
    if (there === undefined || here.isTesting || there.isTesting) return [];
    if (here.pack !== there.pack || here.layer !== there.layer || here.layer === undefined) return [];
    // The layer's own files are not counted: some are below its features (errors.ts), others above them (app.ts).
    if (here.feature === '' || there.feature === '' || here.feature === there.feature) return [];
    const layer = `${here.pack}/${here.layer}`;
    return [[`${layer}/${here.feature}`, `${layer}/${there.feature}`]];
  });
  return findCycles(edges).map((cycle) => `feature folders form a cycle: ${cycle.join(' -> ')}`);
}

function fileCycles(imports: readonly Import[]): string[] {
  const edges = imports.flatMap(({ from, to }): [string, string][] => (to === undefined ? [] : [[from, to]]));
  return findCycles(edges).map((cycle) => `files form a cycle: ${cycle.join(' -> ')}`);
}

function crowdedFolders(files: readonly string[]): string[] {
  const counted = files.filter((file) => placeOf(file).layer !== undefined && !placeOf(file).isTesting);
  return [...Map.groupBy(counted, dirname)]
    .filter(([, inside]) => inside.length > folderFilesMax)
    .map(([folder, inside]) => `${folder} has ${inside.length} files, more than ${folderFilesMax}: split it`);
}

function crowdedLayers(files: readonly string[]): string[] {
  const places = files.map(placeOf).filter(({ layer, feature }) => layer !== undefined && feature !== '');
  return [...Map.groupBy(places, ({ pack, layer }) => `packages/${pack}/src/${layer}`)]
    .map(([layer, inside]) => ({
      layer,
      features: new Set(inside.map(({ feature }) => feature.split('/')[0])),
    }))
    .filter(({ features }) => features.size > layerFeaturesMax)
    .map(({ layer, features }) => `${layer} has ${features.size} features, more than ${layerFeaturesMax}`);
}

/** Settings are read in one place of each package, where each has a default, a unit and a sentence. */
function environmentReaders(root: string, files: readonly string[]): string[] {
  const mayRead =
    /^(scripts|bench|e2e|examples)\/|^packages\/(platform\/|cli\/src\/config\.ts$|[^/]+\/src\/app\/settings\.ts$)|(^|[/.])main\.ts$|\/testing\/|\.test\.ts$/;
  return files
    .filter((file) => !mayRead.test(file) && /\bprocess\.env\b/.test(readFileSync(join(root, file), 'utf8')))
    .map((file) => `${file} reads process.env: only main files and app/settings.ts do`);
}

/** The import of a template tag of `kernel/database/sql.ts`. Kysely's `sql`, for text that varies, isn't one. */
const statementTag = /^import \{[^}]*(?<!type )\b(?:sql|part)\b[^}]*\} from '[^']*\/sql(?:\.ts)?';$/m;

/** Statements are compared with the database by name; `scripts/statements.ts` reads only these files. */
function statementsElsewhere(root: string, files: readonly string[]): string[] {
  return files
    .filter((file) => /^packages\/[^/]+\/src\//.test(file) && !placeOf(file).isTesting)
    .filter((file) => !/\.sql(?:-parts)?\.ts$/.test(file))
    .filter((file) => statementTag.test(readFileSync(join(root, file), 'utf8')))
    .map((file) => `${file} holds a statement: move it into a *.sql.ts or *.sql-parts.ts file`);
}
