import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from './compile.ts';
import { withEveryText } from './licences.ts';
import { lockedParts, readLock } from './locked.ts';
import { listPackages, nodeOnly, reachableFrom } from './modules.ts';

/** A package to install: its name, version and files by path. */
export interface Packed {
  readonly name: string;
  /** The name of the package's tarball, without version and ending. */
  readonly tarball: string;
  readonly version: string;
  readonly files: ReadonlyMap<string, string | Buffer>;
}

interface Manifest {
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly engines?: object;
  readonly exports?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * The page for trying out the API. The tarball contains these files of it instead of depending on it, because its
 * dependency @scarf/scarf reports each installation to its publisher.
 */
const carried = 'node_modules/swagger-ui-dist';
const carriedFiles = [
  'LICENSE',
  'NOTICE',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui.css',
];

const commandFiles = [
  'baton.mjs',
  'fast-start.mjs',
  'foreground.mjs',
  'invocation.mjs',
  'lock.mjs',
  'package-source.mjs',
  'prepare.mjs',
].map((name) => `bin/${name}`);
/** Files that are not modules; they are read from disk at run time. */
const assets = [
  ...commandFiles,
  'LICENSE',
  'README.md',
  'toolchain/package.json',
  'toolchain/package-lock.json',
];
/** Programs that are started as processes of their own, or by bin/baton.mjs. */
const programs = ['packages/*/src/main.ts', 'packages/*/src/app/main.ts', 'packages/*/src/**/*.main.ts'];
/** Built here, so that an installation of the package needs no browser compiler. */
const consoleBuild = 'packages/console/src/build.main.ts';

/** The file with the licences of the bundled modules; the console's build writes it. */
const licenceList = 'licenses.md';

/** `@baton/sdk`: compiled for Node 20 and browsers, with declarations, and with no dependencies. */
export function packSdk(root: string): Packed {
  const folder = 'packages/sdk';
  const manifest = readJson(root, `${folder}/package.json`) as Manifest;
  const entries = Object.values(manifest.exports ?? {}).map((path) => join(folder, path));
  const modules = reachableFrom(root, entries);
  const needed = [...listPackages(root, modules)];
  if (needed.length > 0) throw new Error(`@baton/sdk has no dependencies, but imports ${needed.join(', ')}`);
  const inBrowsers = reachableFrom(root, [join(folder, manifest.exports?.['.'] ?? '')]);
  const unfit = nodeOnly(root, inBrowsers);
  if (unfit.length > 0) throw new Error(`browsers have no module of Node: ${unfit.join(', ')}`);
  const library = ['es2023', 'dom', 'dom.asynciterable'];
  const compiled = compile(root, modules, { language: 'es2022', library, hasDeclarations: true });
  const files = new Map<string, string | Buffer>();
  for (const [path, text] of compiled) files.set(path.replace(`${folder}/src/`, 'lib/'), text);
  files.set('LICENSE', read(root, 'LICENSE'));
  files.set('README.md', read(root, `${folder}/README.md`));
  const { version, description, license, engines } = manifest;
  const built = (path: string) => path.replace('./src/', './lib/').replace(/\.ts$/, '');
  const exports = Object.fromEntries(
    Object.entries(manifest.exports ?? {}).map(([name, path]) => [
      name,
      { types: `${built(path)}.d.ts`, default: `${built(path)}.js` },
    ]),
  );
  const name = '@baton/sdk';
  const published = {
    name,
    version,
    description,
    license,
    type: 'module',
    sideEffects: false,
    exports,
    engines,
  };
  files.set('package.json', json(published));
  return { name, tarball: 'baton-sdk', version, files };
}

/**
 * The name `baton` on npm belongs to somebody else, so an install or update under that name would get their package. A
 * scope, in contrast, belongs to a single owner.
 */
const productName = '@baton/baton';
/**
 * The oldest Node version that all dependencies support. A checkout works with Node 20 and up, because it installs Node
 * 24 before any of them runs.
 */
export const oldestNode = '22.12.0';

/** All of Baton: both services, their processes and the command line, at the same paths as in a checkout. */
export function packBaton(root: string): Packed {
  const { version, description, license } = readJson(root, 'package.json') as Manifest;
  const entries = globSync(programs, {
    cwd: root,
    exclude: ['**/testing/**', '**/node_modules/**', consoleBuild],
  }).sort();
  // Baton also uses a file in bin/, which needs no compiling because it is JavaScript already.
  const modules = reachableFrom(root, entries).filter((path) => path.endsWith('.ts'));
  const files = new Map<string, string | Buffer>();
  const library = ['es2024'];
  for (const [path, text] of compile(root, modules, { language: 'es2024', library, hasDeclarations: false }))
    files.set(path, text);
  for (const path of [
    ...assets,
    ...globSync(['packages/*/migrations/*.sql', 'openapi/*.json'], { cwd: root }),
  ])
    files.set(path, read(root, path));
  for (const [path, bytes] of builtConsole(root)) {
    const content = path === licenceList ? withEveryText(root, bytes.toString()) : bytes;
    files.set(`packages/console/built/${path}`, content);
  }
  if (!files.has(`packages/console/built/${licenceList}`)) throw new Error('the console lists no licences');
  for (const name of carriedFiles) files.set(`${carried}/${name}`, read(root, `${carried}/${name}`));
  const { dependencies: _reporter, ...page } = readJson(root, `${carried}/package.json`) as Manifest;
  files.set(`${carried}/package.json`, json(page));

  const parts = [...new Set(modules.map((path) => path.split('/')[1] as string))].sort();
  const needed = dependenciesOf(root, parts);
  const bundled = carried.replace('node_modules/', '');
  const own = Object.keys({ ...needed.dependencies, ...needed.optionalDependencies });
  const unlisted = [...listPackages(root, modules)].filter((name) => !own.includes(name));
  if (unlisted.length > 0) throw new Error(`no package lists ${unlisted.join(', ')} as a dependency`);
  const published = {
    name: productName,
    version,
    description,
    license,
    type: 'module',
    bin: { baton: 'bin/baton.mjs' },
    engines: { node: `>=${oldestNode}` },
    ...needed,
    bundleDependencies: [bundled],
  };
  files.set('package.json', json(published));
  const locked = lockedParts(
    readLock(root),
    own.filter((name) => name !== bundled),
  );
  const packages = {
    '': published,
    ...locked,
    [carried]: { version: page.version, inBundle: true, license: page.license },
  };
  files.set(
    'npm-shrinkwrap.json',
    json({ name: productName, version, lockfileVersion: 3, requires: true, packages }),
  );
  return { name: productName, tarball: 'baton', version, files };
}

/** The console as browsers load it, by path. */
function builtConsole(root: string): Map<string, Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-console-'));
  try {
    const { status, stderr } = spawnSync(process.execPath, [join(root, consoleBuild), folder], {
      encoding: 'utf8',
      timeout: 300_000,
    });
    if (status !== 0) throw new Error(`the console could not be built:\n${stderr}`);
    const paths = globSync('**/*.*', { cwd: folder }).sort();
    return new Map(paths.map((path) => [path, read(folder, path)]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The dependencies of the named folders of `packages/`, except those on one another. */
function dependenciesOf(root: string, folders: readonly string[]) {
  const manifests = folders.map((folder) => readJson(root, `packages/${folder}/package.json`) as Manifest);
  const merged = (field: 'dependencies' | 'optionalDependencies') => {
    const entries = manifests.flatMap((manifest) => Object.entries(manifest[field] ?? {}));
    return Object.fromEntries(
      entries.filter(([name]) => !name.startsWith('@baton/')).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  };
  return { dependencies: merged('dependencies'), optionalDependencies: merged('optionalDependencies') };
}

const read = (root: string, path: string) => readFileSync(join(root, path));
const readJson = (root: string, path: string): unknown => JSON.parse(read(root, path).toString());
const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;
