import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import {
  humanStep,
  makeProcessAgent,
  processAgentPermissions,
  publishProcess,
  setStep,
  specOf,
} from '../../testing/processes/process-instances.ts';

// Migrations of earlier versions' instances, validated at publication (docs/reference/processes.md#migration).

let baton: TestCoordination;
let agent: string;
before(async () => {
  baton = await startCoordination();
  ({ key: agent } = await makeProcessAgent(baton));
});
after(() => baton.close());

const group = (id: string, ...steps: object[]) => ({ id, do: steps });
const first = (more: object = {}) =>
  specOf(agent, [humanStep('look'), group('all', humanStep('sign'))], {
    timers: [{ id: 'late', at: 'timestamp("2030-01-01T00:00:00Z")', do: [setStep('note', { n: '1' })] }],
    ...more,
  });
const same = [humanStep('look'), group('all', humanStep('sign'))];

const cases: readonly [name: string, steps: object[], map: object, found: [string, string][]][] = [
  [
    'a step whose kind has changed',
    [{ id: 'wait', wait: 'PT1S' }, ...same.slice(1)],
    { look: 'wait' },
    [['element_kind_changed', 'look of version 1 was human, and wait is wait']],
  ],
  [
    'an element that is missing in the version',
    same,
    { none: 'look' },
    [['schema_violation', 'version 1 has no element none']],
  ],
  [
    'two elements that map to one',
    same,
    { sign: 'look' },
    [
      ['schema_violation', 'look and sign of version 1 would both be look'],
      [
        'schema_violation',
        'look is in another list than sign of version 1: map sign to null, or pin the instances',
      ],
    ],
  ],
  [
    'a step in another list',
    [humanStep('look'), humanStep('sign'), group('all', setStep('s', { n: '1' }))],
    {},
    [
      [
        'schema_violation',
        'sign is in another list than sign of version 1: map sign to null, or pin the instances',
      ],
    ],
  ],
  ['a step in another list that is removed', [humanStep('sign')], { sign: null }, []],
];

for (const [name, steps, map, found] of cases)
  test(`${name} is ${found.length === 0 ? 'taken' : 'refused'}`, async () => {
    const key = await publishProcess(baton.admin, first());
    const migrations = [{ from: 1, to: 2, policy: 'migrate', map }];
    const spec = specOf(agent, steps, { version: 2, migrations });
    const sent = baton.admin.post('/process-definitions', { key, spec });
    if (found.length === 0) return void (await done(sent, 201));
    const { problems } = await refused(sent, 422, 'invalid_process');
    assert.deepEqual(
      problems
        .filter(({ path }: any) => path === '/migrations/0')
        .map(({ code, message }: any) => [code, message])
        .sort(),
      found.toSorted(),
    );
  });

test('a version is listed once, and a timer stays in its stage', async () => {
  const key = await publishProcess(baton.admin, first());
  const migrations = [
    { from: 1, to: 2, policy: 'migrate' },
    { from: 1, to: 2, policy: 'pin' },
  ];
  const { timers, ...rest } = first({ version: 2, migrations }) as any;
  const spec = { ...rest, stages: [{ ...rest.stages[0], timers }] };
  const { problems } = await refused(
    baton.admin.post('/process-definitions', { key, spec }),
    422,
    'invalid_process',
  );
  assert.deepEqual(
    problems
      .filter(({ severity }: any) => severity === 'error')
      .map(({ path, message }: any) => [path, message]),
    [
      [
        '/migrations/0',
        'late is in another list than late of version 1: map late to null, or pin the instances',
      ],
      ['/migrations/1/from', 'version 1 already exists'],
    ],
  );
});

test('versions that do not exist, or that the author does not see, are ignored', async () => {
  const hidden = await makeWorkspace(baton);
  const key = await publishProcess(baton.admin, first({ workspaceId: hidden.id }));
  await publishProcess(baton.admin, first({ version: 3 }), key);
  const author = await baton.actor({
    kind: 'human',
    permissions: ['processes.write', ...processAgentPermissions],
  });
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${author.principalId}`,
  );
  const migrations = [1, 2, 3].map((version) => ({ from: version, to: 4, policy: 'migrate' }));
  const spec = first({ version: 4, migrations });
  await done(author.post('/process-definitions', { key, spec }), 201);
  const rows = await baton.pool.rows<{ from_version: number }>(
    sql`select from_version from process_migrations where definition_key = ${key}`,
  );
  assert.deepEqual(
    rows.map((row) => row.from_version),
    [3],
  );
});
