// Needs its own process: it starts no Baton, and the compiler would block other files of its group for seconds.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { repository } from '@baton/testing/baton-process';
import { readLock } from '../scripts/packing/locked.ts';
import { oldestNode, packSdk } from '../scripts/packing/packages.ts';

// The declarations of the packages: the types of the SDK, and the required version of Node.

const folder = mkdtempSync(join(tmpdir(), 'baton-packed-sdk-'));
before(() => {
  for (const [path, content] of packSdk(repository).files) {
    const file = join(folder, 'node_modules/@baton/sdk', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** A program that uses the types of the SDK, without any of Node's. */
const program = `
import { createClient, BatonError, type Harness, type Lease, type Transport, fetchTransport } from '@baton/sdk';
import { findAccess, fileStore } from '@baton/sdk/node';

const transport: Transport = async (request) => fetchTransport(request);
const baton = createClient({ url: 'http://localhost:8080', credential: { token: 'token' }, transport });
export async function work(harness: Harness): Promise<string[]> {
  const titles: string[] = [];
  for await (const lease of harness.work({ once: true })) titles.push(await finish(lease));
  await harness[Symbol.asyncDispose]();
  return titles;
}
async function finish(lease: Lease): Promise<string> {
  try {
    return (await lease.succeed({ answer: 42 })).title;
  } catch (error) {
    if (error instanceof BatonError && error.code === 'lease_lost') return '';
    throw error;
  }
}
export async function read(): Promise<number> {
  const content = await baton.artifacts.getContent('id', undefined, {});
  return (await content.arrayBuffer()).byteLength;
}
export const access = findAccess({}, []);
export const store = fileStore('cursor');
`;

const run = promisify(execFile);

async function faultsWith(options: Record<string, unknown>): Promise<string> {
  writeFileSync(join(folder, 'program.mts'), program);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2022',
    // The declarations themselves are checked, too.
    skipLibCheck: false,
    typeRoots: [join(repository, 'node_modules/@types')],
    ...options,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.mts'] }));
  const compiler = join(repository, 'node_modules/typescript/bin/tsc');
  return run(process.execPath, [compiler, '-p', folder], { timeout: 120_000 }).then(
    () => '',
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
  );
}

test('the types compile without @types/node, with the libraries of ES2022 and browsers', async () => {
  assert.equal(await faultsWith({ lib: ['ES2022', 'DOM'], types: [] }), '');
});

test('the types compile with @types/node, with and without the library of browsers', async () => {
  assert.equal(await faultsWith({ lib: ['ES2022'], types: ['node'] }), '');
  assert.equal(await faultsWith({ lib: ['ES2022', 'DOM'], types: ['node'] }), '');
});

test('all dependencies run on the Node version that the package requires', () => {
  const unfit = Object.entries(readLock(repository)).flatMap(([path, entry]) => {
    const {
      dev,
      devOptional,
      engines: wanted,
    } = entry as { [name: string]: unknown; engines?: { node?: string } };
    const isInstalled = path !== '' && dev !== true && devOptional !== true;
    return !isInstalled || runsOn(oldestNode, wanted?.node ?? '*') ? [] : [`${path} wants ${wanted?.node}`];
  });
  assert.deepEqual(unfit, []);
  assert.equal(runsOn('22.11.0', '>=22.12.0'), false);
  assert.equal(runsOn('20.20.0', '^18 || >= 22.x'), false);
  assert.equal(runsOn('22.12.0', '^20.19.0 || >=22.12.0'), true);
});

/**
 * Whether a version of Node is in a range in the format of package.json: alternatives of `>=`, `^`, `~`, bare versions
 * and `*`.
 */
function runsOn(version: string, range: string): boolean {
  return range.split('||').some((alternative) =>
    (alternative.replace(/([<>=^~]+)\s+/g, '$1').trim() || '*').split(/\s+/).every((part) => {
      const [, operator = '', text = ''] = /^([<>=^~]*)v?([\d.x*]*)/.exec(part) ?? [];
      const bound = text.split('.').map((number) => (/^\d+$/.test(number) ? Number(number) : 0));
      const order = compare(version.split('.').map(Number), bound);
      if (text === '' || text === '*') return true;
      if (operator === '>') return order > 0;
      if (operator === '<') return order < 0;
      if (operator === '<=') return order <= 0;
      const isSameMajor = Number(version.split('.')[0]) === bound[0];
      return order >= 0 && (operator === '>=' || isSameMajor);
    }),
  );
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const at of [0, 1, 2]) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
