import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { findMapFaults } from './code-map.ts';
import { checkoutTree } from './links.ts';

const map = `# Architecture

## Code map

\`\`\`
bin/                 starts it
packages/
├── identity/src/
│   ├── app/         joins it all
│   └── records/     journal/ (in order), and
│                    audit-chain/
└── kernel/          http/ and database/
\`\`\`
`;
const files = [
  'ARCHITECTURE.md',
  'bin/baton.mjs',
  'packages/identity/src/app/app.ts',
  'packages/identity/src/records/journal/journal.ts',
  'packages/identity/src/records/journal/old/old.ts',
  'packages/identity/src/records/audit-chain/chain.ts',
  'packages/identity/src/testing/identity.ts',
  'packages/kernel/src/http/http.ts',
  'packages/kernel/src/database/db.ts',
];
const faultsOf = (present: readonly string[]) => findMapFaults({ files: present, read: () => map });

test('the map of this repository has all its folders and no others', () => {
  assert.deepEqual(findMapFaults(checkoutTree(dirname(import.meta.dirname))), []);
});

test('a map with all folders has no problems', () => {
  assert.deepEqual(faultsOf(files), []);
});

test('a missing folder in the map is reported', () => {
  const faults = faultsOf(files.filter((file) => !/journal|bin/.test(file)));
  assert.deepEqual(faults, [
    'ARCHITECTURE.md: the code map names bin/, which does not exist',
    'ARCHITECTURE.md: the code map names packages/identity/src/records/journal/, which does not exist',
  ]);
});

test('a folder that is missing from the map is reported, in a layer, a package and the repository', () => {
  const more = [
    'packages/identity/src/records/epoch/epoch.ts',
    'packages/kernel/src/limits/limits.ts',
    'packages/values/src/wire.ts',
    'e2e/start.test.ts',
  ];
  assert.deepEqual(
    faultsOf([...files, ...more]).map((fault) => /lacks (\S+)\/:/.exec(fault)?.[1]),
    ['e2e', 'packages/identity/src/records/epoch', 'packages/kernel/src/limits', 'packages/values'],
  );
});
