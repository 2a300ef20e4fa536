// npm run docs [-- --serve [--port=4321]]: builds the site of the documentation in docs-site/dist, and serves it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { findDeadBuiltLinks } from './docs/built-links.ts';
import { pagesOf } from './docs/pages.ts';
import { sectionsOf, sidebarProblems } from './docs/sidebar.ts';
import { siteContent } from './docs/site-content.ts';
import { checkoutTree, findDeadLinks, type Tree } from './links.ts';

const root = dirname(import.meta.dirname);
const site = join(root, 'docs-site');
const installSecondsMax = 600;
const buildSecondsMax = 600;

/** Builds the site, whatever links are dead. @returns the dead links, and pages that the sidebar lacks */
async function buildSite(): Promise<string[]> {
  const tree = checkoutTree(root);
  await installBuilder();
  writeContent(tree);
  await run(buildSecondsMax, [join(site, 'node_modules/astro/bin/astro.mjs'), 'build']);
  return [
    ...findDeadLinks(tree),
    ...sidebarProblems(sectionsOf(tree), pagesOf(tree)),
    ...findDeadBuiltLinks(join(site, 'dist')).map((problem) => `docs-site/dist/${problem}`),
  ];
}

/** Installs what builds the site (180 MB), unless this lockfile is installed. No package runs a program of its own. */
async function installBuilder(): Promise<void> {
  const lockfile = createHash('sha256')
    .update(readFileSync(join(site, 'package-lock.json')))
    .digest('hex');
  const marker = join(site, 'node_modules', '.installed');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === lockfile) return;
  console.log('Installing what builds the site ...');
  await run(installSecondsMax, [
    'npm',
    'ci',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]);
  writeFileSync(marker, lockfile);
}

function writeContent(tree: Tree): void {
  const folder = join(site, '.content');
  for (const old of [folder, join(site, 'dist'), join(site, '.astro')])
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

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({
    options: { serve: { type: 'boolean' }, port: { type: 'string', default: '4321' } },
  });
  const problems = await buildSite();
  for (const problem of problems) console.error(problem);
  console.log(`The site is in ${join(site, 'dist')}.`);
  process.exitCode = problems.length === 0 ? 0 : 1;
  if (values.serve === true) {
    const { serveSite } = await import('./docs/site-server.ts');
    console.log(`Serving it on ${await serveSite(join(site, 'dist'), Number(values.port))}`);
  }
}
