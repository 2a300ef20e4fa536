import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkFloors } from './floors.ts';
import { oversizedFiles } from './sources.ts';

async function problemsOf(tree: Record<string, string>): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'baton-floors-'));
  try {
    for (const [file, text] of Object.entries(tree)) {
      await mkdir(dirname(join(root, file)), { recursive: true });
      await writeFile(join(root, file), text);
    }
    return checkFloors(root, Object.keys(tree)).problems;
  } finally {
    await rm(root, { recursive: true });
  }
}

const feature = 'packages/coordination/src';

test('a tree that keeps to its floors has no problem', async () => {
  const problems = await problemsOf({
    'packages/kernel/src/http.ts': "import { createServer } from 'node:http';\nimport './db.ts';",
    'packages/identity/src/service/service.ts': "import { endpoint } from '@baton/kernel/service';",
    [`${feature}/claims/claims.ts`]: "import { findTask } from '../tasks/tasks.ts';\nimport '../service.ts';",
    [`${feature}/tasks/tasks.ts`]: "import { selectTask } from './tasks.sql.ts';",
    [`${feature}/context.ts`]: "import type { Draft } from './journal/journal.ts';",
    [`${feature}/app.ts`]: "import { claim } from './claims/claims.api.ts';",
    'packages/platform/src/baton.ts':
      "import { createIdentity } from '@baton/identity/app/app';\nimport { takeLock } from '../../../bin/lock.mjs';",
  });
  assert.deepEqual(problems, []);
});

const forbidden: [string, Record<string, string>][] = [
  ['the kernel may not use a service', { 'packages/kernel/src/a.ts': "import '@baton/identity/app/app';" }],
  [
    'one service may not use the other',
    { 'packages/identity/src/a.ts': "import '@baton/coordination/app/app';" },
  ],
  ['a client may not use the kernel', { 'packages/cli/src/a.ts': "import { x } from '@baton/kernel/http';" }],
  [
    'a package may not reach into another by path',
    { 'packages/cli/src/a.ts': "import '../../sdk/src/a.ts';" },
  ],
  [
    'a service file may not use a feature',
    { [`${feature}/service.ts`]: "import { a } from './tasks/tasks.ts';" },
  ],
  ['a feature may not use the app', { [`${feature}/tasks/tasks.ts`]: "export { a } from '../app.ts';" }],
  [
    "a feature may not use another's statements",
    { [`${feature}/tasks/tasks.ts`]: "import { a,\n  b } from '../claims/claims.sql.ts';" },
  ],
  ['product code may not use test support', { [`${feature}/a.ts`]: "await import('./testing/service.ts');" }],
  ['only config and main files read the environment', { [`${feature}/tasks/tasks.ts`]: 'process.env.HOME;' }],
  [
    'feature folders may not need each other',
    {
      [`${feature}/tasks/tasks.ts`]: "import { a } from '../claims/claims.ts';",
      [`${feature}/claims/claims.ts`]: "import { b } from '../runs/runs.ts';",
      [`${feature}/runs/runs.ts`]: "import { c } from '../tasks/task-ref.ts';",
    },
  ],
];

for (const [rule, tree] of forbidden)
  test(rule, async () => {
    const problems = await problemsOf(tree);
    assert.equal(problems.length, 1, problems.join('\n'));
  });

test('a file of more lines than allowed is named, a test is not', async () => {
  const root = await mkdtemp(join(tmpdir(), 'baton-sizes-'));
  try {
    for (const file of ['long.ts', 'long.test.ts']) await writeFile(join(root, file), 'x;\n'.repeat(11));
    await writeFile(join(root, 'short.ts'), 'x;\n'.repeat(10));
    const problems = oversizedFiles(root, ['long.ts', 'long.test.ts', 'short.ts'], 10);
    assert.deepEqual(problems, ['long.ts has 11 lines, more than 10: split it by what it does']);
  } finally {
    await rm(root, { recursive: true });
  }
});
