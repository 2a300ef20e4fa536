import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { byDepth } from '@baton/testing/depth';
import { copyWorkTree, repository } from './testing/work-tree.ts';

let root: string;
let printed: string;

/** Violations by file: each text is appended to the file, which is created if it doesn't exist. */
const planted: Record<string, string> = {
  'packages/coordination/src/service/planted-upward.ts': "export { endpoints } from '../app/endpoints.ts';\n",
  'packages/identity/src/service/planted-upward-type.ts':
    "import type { endpoints } from '../app/endpoints.ts';\nexport type Planted = typeof endpoints;\n",
  'packages/kernel/src/planted-a.ts':
    "import type { PlantedB } from './planted-b.ts';\nexport type PlantedA = PlantedB;\n",
  'packages/kernel/src/planted-b.ts':
    "import type { PlantedA } from './planted-a.ts';\nexport type PlantedB = PlantedA[];\n",
  'packages/kernel/src/planted-unused.ts': 'export const planted = 1;\n',
  'packages/identity/src/testing/planted-unused.ts': 'export const planted = 1;\n',
  'packages/kernel/src/database/sql.ts':
    'export const plantedForTests = 1;\nexport const plantedForNobody = 1;\n',
  'packages/kernel/src/planted.test.ts':
    "import { plantedForTests } from './sql.ts';\nconsole.log(plantedForTests);\n",
  'packages/kernel/src/planted-floating.ts':
    'async function later() {}\nexport function now() {\n  later();\n}\n',
  'packages/identity/src/service/planted-inside.ts':
    "export { planted } from '@baton/kernel/planted-unused';\n",
  'packages/identity/src/service/planted-order.ts':
    "import { sql } from '@baton/kernel/database/sql';\nimport { join } from 'node:path';\nexport const planted = [join, sql];\n",
};

const programs = ['bench', 'e2e', 'examples'];
/**
 * The long proof copies the whole work tree; `npm test` copies only what the planted files depend on, a tenth of the
 * tools' input.
 */
const copied = byDepth(
  [
    ...['bin', 'scripts', 'packages/kernel'],
    ...['identity', 'coordination'].flatMap((service) =>
      ['package.json', 'src/service'].map((path) => `packages/${service}/${path}`),
    ),
    'packages/coordination/src/app/endpoints.ts',
  ],
  ['packages', 'scripts', 'bin', ...programs],
);

before(async () => {
  root = await copyWorkTree(copied);
  // The linter fails if one of its folders does not exist.
  for (const folder of [...programs, 'packages/identity/src/testing'])
    await mkdir(join(root, folder), { recursive: true });
  for (const [file, text] of Object.entries(planted)) await appendFile(join(root, file), text);
  const steps = ['format', 'lint', 'layers', 'unused code', 'tests only'];
  printed = await new Promise((resolve) => {
    const options = { cwd: root, maxBuffer: 1e8 };
    const args = ['--disable-warning=ExperimentalWarning', 'scripts/check.ts', ...steps];
    execFile(process.execPath, args, options, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
});

after(() => rm(root, { recursive: true, force: true }));

/** The expected reports about the planted files. */
const expected: [violation: string, line: RegExp][] = [
  [
    'an import of a higher layer',
    /planted-upward\.ts imports \.\.\/app\/endpoints\.ts: layer app is above layer service/,
  ],
  [
    'a type import of a higher layer',
    /planted-upward-type\.ts imports \.\.\/app\/endpoints\.ts: layer app is above layer service/,
  ],
  [
    'a cycle of files by their types',
    /files form a cycle: packages\/kernel\/src\/planted-a\.ts -> packages\/kernel\/src\/planted-b\.ts -> /,
  ],
  ['an unused file', /^ *packages\/kernel\/src\/planted-unused\.ts *$/m],
  ['an unused file of test support', /^ *packages\/identity\/src\/testing\/planted-unused\.ts *$/m],
  ['an unused export', /plantedForNobody +packages\/kernel\/src\/database\/sql\.ts/],
  [
    'an export that only a test uses',
    /packages\/kernel\/src\/database\/sql\.ts:\d+ plantedForTests: only tests import it/,
  ],
  [
    'an import of what a package does not export',
    /planted-inside\.ts imports @baton\/kernel\/planted-unused: packages\/kernel doesn't export it/,
  ],
  ['unsorted imports', /planted-order\.ts:\d+:\d+ assist\/source\/organizeImports/],
];

// A linter without the type-checking binary (decision 0011) can't find this violation.
if (existsSync(join(repository, 'node_modules/@oxlint-tsgolint', `${process.platform}-${process.arch}`)))
  expected.push(['a floating promise', /planted-floating\.ts:3:3: Promises must be awaited/]);

for (const [violation, line] of expected)
  test(`${violation} fails the check`, () => {
    assert.ok(line.test(printed), `nothing like ${line} was printed`);
  });
