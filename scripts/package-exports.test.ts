import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkExports } from './package-exports.ts';

const used = {
  from: 'packages/identity/src/app/app.ts',
  specifier: '@baton/kernel/http/http',
  to: 'packages/kernel/src/http/http.ts',
};
const own = {
  from: 'packages/kernel/src/http/http.ts',
  specifier: './etag.ts',
  to: 'packages/kernel/src/http/etag.ts',
};

async function problemsOf(exports: Record<string, string>, isPublished = false): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'baton-exports-'));
  try {
    await mkdir(join(root, 'packages/kernel'), { recursive: true });
    await writeFile(
      join(root, 'packages/kernel/package.json'),
      JSON.stringify({ private: !isPublished, exports }),
    );
    return checkExports(root, [used, own]);
  } finally {
    await rm(root, { recursive: true });
  }
}

test('an export that another package imports is no problem', async () => {
  assert.deepEqual(await problemsOf({ './http/http': './src/http/http.ts' }), []);
});

test('an export of a published package is for its users', async () => {
  assert.deepEqual(
    await problemsOf({ './http/http': './src/http/http.ts', './http/etag': './src/http/etag.ts' }, true),
    [],
  );
});

test('an export that only its own package imports is reported', async () => {
  assert.deepEqual(
    await problemsOf({ './http/http': './src/http/http.ts', './http/etag': './src/http/etag.ts' }),
    ['packages/kernel/package.json exports ./http/etag, which no other package, script or bench imports'],
  );
});

test("an import of something that isn't exported is reported", async () => {
  assert.deepEqual(await problemsOf({}), [
    "packages/identity/src/app/app.ts imports @baton/kernel/http/http: packages/kernel doesn't export it",
  ]);
});

test('an export of all files of the package is rejected', async () => {
  const problems = await problemsOf({ './http/http': './src/http/http.ts', './*': './src/*.ts' });
  assert.deepEqual(problems, [
    'packages/kernel/package.json exports ./*: write it as "./<module>": "./src/<module>.ts"',
  ]);
});

test('an export under another name than its file is rejected', async () => {
  const problems = await problemsOf({ './web': './src/http/http.ts' });
  assert.deepEqual(problems, [
    'packages/kernel/package.json exports ./web: write it as "./<module>": "./src/<module>.ts"',
  ]);
});
