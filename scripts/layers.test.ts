import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkLayers, folderFilesMax, layerFeaturesMax } from './layers.ts';
import { oversizedFiles } from './sources.ts';

async function problemsOf(tree: Record<string, string>): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'baton-layers-'));
  try {
    for (const [file, text] of Object.entries(tree)) {
      await mkdir(dirname(join(root, file)), { recursive: true });
      await writeFile(join(root, file), text);
    }
    return checkLayers(root, Object.keys(tree)).problems;
  } finally {
    await rm(root, { recursive: true });
  }
}

const coordination = 'packages/coordination/src';
const identity = 'packages/identity/src';

test('a tree that respects its layers has no problems', async () => {
  const problems = await problemsOf({
    'packages/kernel/src/http/http.ts': "import { createServer } from 'node:http';\nimport './db.ts';",
    [`${identity}/service/service.ts`]: "import { endpoint } from '@baton/kernel/http/service';",
    [`${identity}/app/settings.ts`]: 'process.env.HOME;',
    [`${coordination}/execution/claims/claims.ts`]:
      "import { getTask } from '../../work/tasks/tasks.ts';\nimport type { Run } from '../runs/run.ts';",
    [`${coordination}/work/tasks/tasks.ts`]:
      "import type { Statement } from '@baton/kernel/database/sql';\nimport { findTask } from './tasks.sql.ts';",
    [`${coordination}/work/tasks/tasks.sql.ts`]: "import { sql } from '@baton/kernel/database/sql';",
    [`${coordination}/work/tasks/tasks.sql-parts.ts`]: "import { part } from '@baton/kernel/database/sql';",
    [`${coordination}/testing/work/tasks.ts`]: "import { sql } from '@baton/kernel/database/sql';",
    [`${coordination}/work/tasks/tasks.test.ts`]:
      "import { createApp } from '../../app/app.ts';\nimport { findClaim } from '../../execution/claims/claims.sql.ts';",
    [`${coordination}/work/tasks/tasks.fixtures.ts`]:
      "import { claim } from '../../execution/claims/claims.ts';",
    [`${coordination}/testing/coordination.ts`]: "import { createApp } from '../app/app.ts';",
    [`${coordination}/app/endpoints.ts`]: "import { claimTask } from '../execution/claims/claims.api.ts';",
    'packages/platform/src/baton.ts':
      "import { createIdentity } from '@baton/identity/app/app';\nimport { takeLock } from '../../../bin/lock.mjs';",
  });
  assert.deepEqual(problems, []);
});

/** The name of the violation that a rule reports, and the files that violate the rule. */
const forbidden: [rule: string, problem: string, tree: Record<string, string>][] = [
  [
    'a file may not import a layer above its own',
    'layer execution is above layer work',
    { [`${coordination}/work/tasks/tasks.ts`]: "import { a } from '../../execution/claims/claims.ts';" },
  ],
  [
    'a file may not import a type from a layer above its own',
    'layer sign-in is above layer issuing',
    {
      [`${identity}/issuing/tokens/tokens.ts`]:
        "import type { A } from '../../sign-in/federation/federation.ts';",
    },
  ],
  [
    'a file may not re-export from a layer above its own',
    'layer app is above layer work',
    { [`${coordination}/work/context.ts`]: "export { a } from '../app/app.ts';" },
  ],
  [
    'a file may not load a layer above its own at run time',
    'layer app is above layer service',
    { [`${coordination}/service/auth.ts`]: "await import('../app/app.ts');" },
  ],
  [
    'a file may not refer to a type of a layer above its own by import()',
    'layer app is above layer service',
    { [`${coordination}/service/auth.ts`]: "type App = import('../app/app.ts').App;" },
  ],
  [
    "a file may not import another feature's statements",
    'the statements of a feature are for itself',
    { [`${coordination}/work/tasks/tasks.ts`]: "import { a,\n  b } from '../relations/relations.sql.ts';" },
  ],
  [
    "a file may not import the types of another feature's statements",
    'the statements of a feature are for itself',
    {
      [`${coordination}/execution/claims/claims.ts`]:
        "import type { Row } from '../../work/tasks/tasks.sql.ts';",
    },
  ],
  [
    "a file may not import another feature's declarations of endpoints",
    'only app/endpoints.ts',
    { [`${coordination}/app/app.ts`]: "import { a } from '../work/tasks/tasks.api.ts';" },
  ],
  [
    "a file may not import the types of its own feature's declarations",
    'only app/endpoints.ts',
    { [`${coordination}/work/tasks/tasks.ts`]: "import type { A } from './tasks.api.ts';" },
  ],
  [
    'feature folders of one layer may not import each other in a cycle',
    'feature folders form a cycle: coordination/work/relations -> coordination/work/task-types -> coordination/work/tasks -> coordination/work/relations',
    {
      [`${coordination}/work/tasks/tasks.ts`]: "import { a } from '../relations/relations.ts';",
      [`${coordination}/work/relations/relations.ts`]: "import { b } from '../task-types/task-type.ts';",
      [`${coordination}/work/task-types/task-types.ts`]: "import type { C } from '../tasks/task-ref.ts';",
    },
  ],
  [
    'files may not import each other in a cycle',
    'files form a cycle: packages/kernel/src/a.ts -> packages/kernel/src/b.ts -> packages/kernel/src/c.ts -> packages/kernel/src/a.ts',
    {
      'packages/kernel/src/a.ts': "import { b } from './b.ts';",
      'packages/kernel/src/b.ts': "import { c } from './c.ts';",
      'packages/kernel/src/c.ts': "import { a } from './a.ts';",
    },
  ],
  [
    'files may not import types from each other in a cycle',
    'files form a cycle: scripts/a.ts -> scripts/b.ts -> scripts/a.ts',
    {
      'scripts/a.ts': "import type { B } from './b.ts';",
      'scripts/b.ts': "import type { A } from './a.ts';",
    },
  ],
  [
    'a folder that is not a layer is reported',
    'packages/coordination/src/helpers is no layer',
    { [`${coordination}/helpers/texts.ts`]: '' },
  ],
  [
    'a file outside of all layers is reported',
    'packages/identity/src/texts.ts is in no layer',
    { [`${identity}/texts.ts`]: '' },
  ],
  [
    'a folder may not hold more files than the limit, tests not counted',
    `packages/identity/src/directory/groups has ${folderFilesMax + 1} files`,
    Object.fromEntries([
      ...numbers(folderFilesMax + 1).map((n) => [`${identity}/directory/groups/part-${n}.ts`, '']),
      ...numbers(folderFilesMax + 1).map((n) => [`${identity}/directory/tenants/part-${n}.test.ts`, '']),
    ]),
  ],
  [
    'a layer may not hold more features than the limit',
    `packages/identity/src/directory has ${layerFeaturesMax + 1} features`,
    Object.fromEntries(
      numbers(layerFeaturesMax + 1).map((n) => [`${identity}/directory/noun-${n}/noun.ts`, '']),
    ),
  ],
  [
    'the kernel may not use a service',
    'kernel may not use identity',
    { 'packages/kernel/src/a.ts': "import '@baton/identity/app/app';" },
  ],
  [
    'one service may not use the other',
    'identity may not use coordination',
    { [`${identity}/app/a.ts`]: "import type { App } from '@baton/coordination/app/app';" },
  ],
  [
    'the process engine may not use a service',
    'process-engine may not use coordination',
    { 'packages/process-engine/src/engine/a.ts': "import '@baton/coordination/app/app';" },
  ],
  [
    'the process engine may not use the kernel, which depends on a database',
    'process-engine may not use kernel',
    { 'packages/process-engine/src/engine/a.ts': "import '@baton/kernel/database/db';" },
  ],
  [
    'a pure package may not use a driver of a database',
    'values runs without a database, a network and a file system',
    { 'packages/values/src/a.ts': "import { Pool } from 'pg';" },
  ],
  [
    'a pure package may not read files',
    'process-engine runs without a database, a network and a file system',
    { 'packages/process-engine/src/engine/a.ts': "import { readFile } from 'node:fs/promises';" },
  ],
  [
    'a client may not use the kernel',
    'a client uses the sdk only',
    { 'packages/cli/src/a.ts': "import { x } from '@baton/kernel/http/http';" },
  ],
  [
    'a package may not reach into another by path',
    'imported by its name',
    { 'packages/cli/src/a.ts': "import '../../sdk/src/a.ts';" },
  ],
  [
    'a script may not reach into a package by path, past its exports',
    'imported by its name',
    { 'scripts/a.ts': "import '../packages/kernel/src/http/http.ts';" },
  ],
  [
    'a package may not reach out of packages/',
    'nothing outside packages/',
    { [`${coordination}/app/a.ts`]: "import '../../../../scripts/check.ts';" },
  ],
  [
    'product code may not use test support',
    'test support is for tests',
    { [`${coordination}/work/tasks/tasks.ts`]: "await import('../../testing/service.ts');" },
  ],
  [
    'only settings and main files read the environment',
    'reads process.env',
    { [`${coordination}/work/settings.ts`]: 'process.env.HOME;' },
  ],
  [
    'a statement outside of the files for statements is reported',
    'tasks.ts holds a statement: move it into a *.sql.ts',
    {
      [`${coordination}/work/tasks/tasks.ts`]:
        "import { type Statement, sql } from '@baton/kernel/database/sql';\nexport const find = () => sql`select 1`;",
    },
  ],
  [
    'a part of statements outside of the files for statements is reported',
    'command.ts holds a statement: move it into a *.sql.ts',
    { 'packages/kernel/src/http/command.ts': "import {\n  part,\n} from '../database/sql.ts';" },
  ],
];

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

for (const [rule, problem, tree] of forbidden)
  test(rule, async () => {
    const problems = await problemsOf(tree);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.ok(problems[0]?.includes(problem), problems[0]);
  });

test('each of several cycles that share files is reported once', async () => {
  const problems = await problemsOf({
    'scripts/a.ts': "import './b.ts';\nimport './c.ts';",
    'scripts/b.ts': "import './a.ts';",
    'scripts/c.ts': "import './a.ts';",
    'scripts/d.ts': "import './a.ts';",
  });
  assert.deepEqual(problems, [
    'files form a cycle: scripts/a.ts -> scripts/b.ts -> scripts/a.ts',
    'files form a cycle: scripts/c.ts -> scripts/a.ts -> scripts/c.ts',
  ]);
});

test('a file with more lines than allowed is reported, a test is not', async () => {
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
