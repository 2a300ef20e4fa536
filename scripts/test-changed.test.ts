import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { changedFiles, touchedTests } from './test-changed.ts';

const root = mkdtempSync(join(tmpdir(), 'baton-changed-'));
after(() => rmSync(root, { recursive: true }));

const service = 'packages/coordination/src';
/** A service with two features, tasks and claims; claims import tasks. Every test starts the whole service. */
const texts: Record<string, string> = {
  [`${service}/service/schema.ts`]: '',
  [`${service}/work/tasks/tasks.ts`]: "import type { Row } from '../../service/schema.ts';",
  [`${service}/work/tasks/tasks.api.ts`]: "import { read } from './tasks.ts';",
  [`${service}/work/tasks/tasks.test.ts`]: "import { start } from '../../testing/coordination.ts';",
  [`${service}/work/goals/goals.ts`]: '',
  [`${service}/work/goals/goals.test.ts`]: "import { start } from '../../testing/coordination.ts';",
  [`${service}/execution/claims/claims.ts`]: "import { read } from '../../work/tasks/tasks.ts';",
  [`${service}/execution/claims/claims.race.test.ts`]:
    "import { start } from '../../testing/coordination.ts';",
  [`${service}/app/endpoints.ts`]:
    "import { a } from '../work/tasks/tasks.api.ts';\nimport { b } from '../execution/claims/claims.ts';\nimport { c } from '../work/goals/goals.ts';",
  [`${service}/app/matrix.test.ts`]: "import { start } from '../testing/coordination.ts';",
  [`${service}/testing/coordination.ts`]:
    "import { endpoints } from '../app/endpoints.ts';\nimport { parse } from '@baton/values/json';",
  'packages/values/src/json.ts': '',
  'packages/cli/src/main.ts': '',
  'e2e/start.test.ts':
    "program('packages/cli/src/main.ts'); read('README.md'); run('agent/work.sh'); join(root, 'examples', 'apply');",
};
for (const [file, text] of Object.entries(texts)) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}
const sources = Object.keys(texts);
const tests = sources.filter((file) => file.endsWith('.test.ts'));
const touched = (...changed: string[]) => touchedTests(root, changed, sources, tests);

test('a change affects the tests next to it and next to its importers, not those of the whole service', () => {
  assert.deepEqual(touched(`${service}/work/tasks/tasks.ts`), [
    `${service}/work/tasks/tasks.test.ts`,
    `${service}/execution/claims/claims.race.test.ts`,
  ]);
  assert.deepEqual(touched(`${service}/work/goals/goals.ts`), [`${service}/work/goals/goals.test.ts`]);
  assert.deepEqual(touched(`${service}/work/goals/goals.test.ts`), [`${service}/work/goals/goals.test.ts`]);
});

test('a declaration of an endpoint is checked over all endpoints, too', () => {
  assert.deepEqual(touched(`${service}/work/tasks/tasks.api.ts`), [
    `${service}/work/tasks/tasks.test.ts`,
    `${service}/app/matrix.test.ts`,
  ]);
});

test('files that compose a service affect all of its tests, and a migration those that use its tables', () => {
  const own = tests.filter((file) => file.startsWith(service));
  assert.deepEqual(touched(`${service}/app/endpoints.ts`), own);
  assert.deepEqual(touched('packages/coordination/migrations/0099_new.sql'), [
    `${service}/work/tasks/tasks.test.ts`,
    `${service}/execution/claims/claims.race.test.ts`,
  ]);
});

test('imports that start a service affect all of its tests', () => {
  const own = tests.filter((file) => file.startsWith(service));
  assert.deepEqual(touched('packages/values/src/json.ts'), own);
});

test('a program and a document affect the tests that refer to them, and a dependency affects all', () => {
  assert.deepEqual(touched('packages/cli/src/main.ts'), ['e2e/start.test.ts']);
  for (const file of ['README.md', 'examples/agent/work.sh', 'examples/apply/people.yaml'])
    assert.deepEqual(touched(file), ['e2e/start.test.ts'], file);
  assert.deepEqual(touched('docs/errors.md'), []);
  assert.deepEqual(touched('package-lock.json'), tests);
});

test('changed files are those of commits since the merge base, of the work tree, and new ones', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: root,
      stdio: 'pipe',
    });
  git('init', '--initial-branch=main');
  git('add', 'packages');
  git('commit', '--message=first');
  git('checkout', '-b', 'branch');
  writeFileSync(join(root, 'packages/cli/src/main.ts'), 'changed');
  git('commit', '--all', '--message=second');
  writeFileSync(join(root, `${service}/work/goals/goals.ts`), 'changed');
  assert.deepEqual(changedFiles(root, 'main'), [
    'e2e/start.test.ts',
    'packages/cli/src/main.ts',
    `${service}/work/goals/goals.ts`,
  ]);
  assert.throws(() => changedFiles(root, 'nowhere'), { name: 'StartError' });
});
