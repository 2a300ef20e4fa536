// npm run check [-- step ...]: checks the code without running it, with all steps or the given ones.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findMapFaults } from './code-map.ts';
import { checkLayers } from './layers.ts';
import { checkoutTree, findDeadLinks } from './links.ts';
import { checkExports } from './package-exports.ts';
import { checkReleasedApi } from './released-api.ts';
import { untestedPromises } from './security-page.ts';
import { oversizedFiles, sourceFiles } from './sources.ts';
import { wallClockAssertions } from './wall-clock.ts';
import { checkWords } from './words.ts';

const root = dirname(import.meta.dirname);
const linesMax = 500;
const outputLinesMax = 80;
/** Most steps use one core, so two steps at once use both cores of the smallest machine. */
const stepsAtOnce = 2;
/** Exported types are not checked: a named parameter or return type is useful even if nothing imports it. */
const knipIssues = 'files,dependencies,unlisted,unresolved,binaries,exports';

interface Step {
  readonly name: string;
  /** The problems found, as text for people; empty if there are none. */
  run(): Promise<string> | string;
}

const steps: Step[] = [
  { name: 'types', run: types },
  { name: 'format', run: () => tool('biome', 'check', '--max-diagnostics=none', '.') },
  { name: 'lint', run: lint },
  { name: 'layers', run: layers },
  { name: 'sizes', run: () => oversizedFiles(root, sourceFiles(root), linesMax).join('\n') },
  {
    name: 'unused code',
    run: () => tool('knip', '--no-progress', '--no-config-hints', '--include', knipIssues),
  },
  { name: 'tests only', run: usedByTestsOnly },
  { name: 'bounds', run: () => node(join(root, 'scripts', 'bounds.ts')) },
  { name: 'wall clock', run: () => wallClockAssertions(root).join('\n') },
  { name: 'links', run: () => findDeadLinks(checkoutTree(root)).join('\n') },
  { name: 'words', run: () => checkWords(checkoutTree(root)).join('\n') },
  { name: 'code map', run: () => findMapFaults(checkoutTree(root)).join('\n') },
  { name: 'security page', run: () => untestedPromises(root).join('\n') },
  { name: 'released API', run: () => checkReleasedApi().join('\n') },
  { name: 'generated files', run: generated },
];

/** The console's browser code uses the types of the DOM instead of Node's. Its tests use both. */
async function types(): Promise<string> {
  const web = 'packages/console/web';
  const projects = ['.', web, `${web}/tsconfig.test.json`];
  const problems: string[] = [];
  for (const project of projects) problems.push(await tool('tsc', '-p', project));
  return problems.filter((found) => found !== '').join('\n');
}

/**
 * Runs the steps and prints one line per step, with its duration and its findings: all findings for named steps,
 * the first lines in a whole run.
 * @param names of the steps to run; empty for all
 * @returns true if there are no findings
 */
export async function check(names: readonly string[] = []): Promise<boolean> {
  const waiting = steps.filter(({ name }) => names.length === 0 || names.includes(name));
  let isClean = true;
  const work = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const { name, run } = step;
      const began = performance.now();
      const problems = await run();
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      console.log(`${problems === '' ? '✔' : '✘'} ${name.padEnd(16)} ${seconds} s`);
      const shown = names.length === 0 ? shortened(problems) : problems;
      if (problems !== '') console.log(shown.replaceAll(/^/gm, '    '));
      isClean &&= problems === '';
    }
  };
  await Promise.all(Array.from({ length: stepsAtOnce }, work));
  return isClean;
}

/**
 * Rules such as no-floating-promises need tsgolint, whose binary isn't installed on every platform (decision 0011).
 * They are skipped without it.
 */
function lint(): Promise<string> {
  const binary = join(root, 'node_modules', '@oxlint-tsgolint', `${process.platform}-${process.arch}`);
  const typeAware = existsSync(binary) ? ['--type-aware'] : [];
  if (typeAware.length === 0) console.log(`  lint without types: ${binary} is not installed`);
  return tool(
    'oxlint',
    ...typeAware,
    '--deny-warnings',
    '--format=unix',
    'packages',
    'scripts',
    'bench',
    'e2e',
    'examples',
    'bin',
  );
}

function shortened(output: string): string {
  const lines = output.split('\n');
  const more = lines.length - outputLinesMax;
  return more <= 0 ? output : `${lines.slice(0, outputLinesMax).join('\n')}\n... and ${more} lines more`;
}

function layers(): string {
  const files = sourceFiles(root);
  const { problems, imports } = checkLayers(root, files);
  const edges = new Set(imports.map(({ from, to }) => `${from} -> ${to}`));
  // A check that reads no imports would report success, so these existing edges must have been found.
  const known = [
    'packages/kernel/src/http/http.ts -> packages/kernel/src/http/service.ts',
    'packages/platform/src/postgres/cluster.ts -> packages/platform/src/postgres/account.ts',
    'scripts/check.ts -> scripts/layers.ts',
    'scripts/test-environment.ts -> packages/platform/src/postgres/cluster.ts',
  ];
  const unseen = known.filter((edge) => !edges.has(edge)).map((edge) => `the check did not see ${edge}`);
  const tooFew = files.length < 40 || imports.length < 2 * files.length;
  const blind = tooFew ? [`the check saw only ${files.length} files and ${imports.length} imports`] : [];
  return [...problems, ...checkExports(root, imports), ...unseen, ...blind].join('\n');
}

interface KnipReport {
  readonly issues: readonly {
    readonly file: string;
    readonly files: readonly unknown[];
    readonly exports: readonly { readonly name: string; readonly line: number }[];
  }[];
}

/** Runs Knip on the packages without counting tests as users; test support, which has no other users, is excluded. */
async function usedByTestsOnly(): Promise<string> {
  const output = await tool('knip', '--production', '--include', 'files,exports', '--reporter', 'json');
  if (!output.startsWith('{')) return output;
  const { issues } = JSON.parse(output) as KnipReport;
  return issues
    .filter(({ file }) => file.startsWith('packages/') && !file.includes('/testing/'))
    .flatMap(({ file, files, exports }) => [
      ...files.map(() => `${file}: only tests import it, or nothing`),
      ...exports.map(({ name, line }) => `${file}:${line} ${name}: only tests import it, or nothing`),
    ])
    .join('\n');
}

async function generated(): Promise<string> {
  const script = join(root, 'scripts', 'generate.ts');
  return existsSync(script) ? node(script, '--check') : '';
}

/** A tool of node_modules, run by this same Node. */
function tool(name: string, ...args: readonly string[]): Promise<string> {
  return node(realpathSync(join(root, 'node_modules', '.bin', name)), ...args);
}

/** The output of a program if it failed; nothing if it succeeded. */
function node(...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      const output = Buffer.concat(chunks).toString().trimEnd();
      resolve(code === 0 ? '' : output || `${args[0]} ended with code ${code}`);
    });
  });
}

if (import.meta.filename === process.argv[1]) {
  const names = process.argv.slice(2);
  const unknown = names.filter((name) => !steps.some((step) => step.name === name));
  if (unknown.length > 0)
    console.error(`No step ${unknown.join(', ')}; there are: ${steps.map(({ name }) => name).join(', ')}.`);
  process.exitCode = unknown.length === 0 && (await check(names)) ? 0 : 1;
}
