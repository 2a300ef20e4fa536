// npm run docs [-- --serve [--port=4321]]: builds the site of the documentation in docs-site/dist, and serves it.
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { findDeadBuiltLinks } from './docs/built-links.ts';
import { pagesOf } from './docs/pages.ts';
import { sectionsOf, sidebarProblems } from './docs/sidebar.ts';
import { siteContent } from './docs/site-content.ts';
import { serveSite } from './docs/site-server.ts';
import { checkoutTree, findDeadLinks, type Tree } from './links.ts';

const root = dirname(import.meta.dirname);
const site = join(root, 'docs-site');
const dist = join(site, 'dist');
const installSecondsMax = 600;
const buildSecondsMax = 600;

/** Builds the site even if links are dead. @returns the dead links, and the pages that are missing from the sidebar */
async function buildSite(): Promise<string[]> {
  const tree = checkoutTree(root);
  await installBuilder();
  writeContent(tree);
  await run(buildSecondsMax, [join(site, 'node_modules/astro/bin/astro.mjs'), 'build']);
  return [
    ...findDeadLinks(tree),
    ...sidebarProblems(sectionsOf(tree), pagesOf(tree)),
    ...findDeadBuiltLinks(dist).map((problem) => `docs-site/dist/${problem}`),
  ];
}

/** Installs the builder of the site (180 MB), unless it is installed. Install scripts are off. */
async function installBuilder(): Promise<void> {
  if (isInstalled()) return;
  console.log('Installing the builder of the site ...');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run(installSecondsMax, ['npm', 'ci', '--ignore-scripts', ...quiet]);
}

type Lockfile = { packages: Record<string, { version?: string; optional?: boolean }> };

/**
 * Whether the lockfile that npm leaves in `node_modules` contains every package of ours, except optional ones for other
 * platforms.
 */
function isInstalled(): boolean {
  const path = join(site, 'node_modules/.package-lock.json');
  if (!existsSync(path)) return false;
  const read = (file: string) => (JSON.parse(readFileSync(file, 'utf8')) as Lockfile).packages;
  const installed = read(path);
  return Object.entries(read(join(site, 'package-lock.json'))).every(
    ([name, { version, optional = false }]) => {
      const found = installed[name]?.version;
      return name === '' || found === version || (optional && found === undefined);
    },
  );
}

function writeContent(tree: Tree): void {
  const folder = join(site, '.content');
  // Removes Astro's cache too: it contains rendered pages, which would lack changes to our plugins.
  for (const old of [folder, dist, join(site, '.astro'), join(site, 'node_modules/.astro')])
    rmSync(old, { recursive: true, force: true });
  for (const [path, content] of siteContent(tree)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    if (typeof content === 'string') writeFileSync(file, content);
    else copyFileSync(join(root, content.copyOf), file);
  }
}

/** Runs npm, or a program of the site in this Node, to its end. @throws if it fails or takes too long */
function run(secondsMax: number, [program = '', ...args]: readonly string[]): Promise<void> {
  const [file, all] = program === 'npm' ? ['npm', args] : [process.execPath, [program, ...args]];
  const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' };
  const child = spawn(file, all, { cwd: site, stdio: 'inherit', env, timeout: secondsMax * 1000 });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0 || signal === 'SIGINT') resolve();
      else reject(new Error(`${[program, ...args].join(' ')} ended with ${signal ?? `code ${code}`}`));
    });
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { serve: { type: 'boolean' }, port: { type: 'string', default: '4321' } },
  });
  const problems = await buildSite();
  for (const problem of problems) console.error(problem);
  console.log(`The site is in ${dist}.`);
  if (problems.length > 0) process.exitCode = 1;
  if (values.serve !== true) return;
  const { address } = await serveSite(dist, Number(values.port));
  console.log(`It is served at ${address} until Ctrl-C.`);
}

if (import.meta.filename === process.argv[1])
  await main().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
