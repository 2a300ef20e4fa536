import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import {
  applyDocuments,
  newKey,
  planDocuments,
  sourceOf,
  type TestDocument,
} from '../../testing/packages/package-sources.ts';
import { blockOf } from '../../testing/packages/views.ts';
import {
  humanStep,
  makeProcessAgent,
  setStep,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { processSpec } from '../../testing/processes/processes.ts';
import { agentSpec } from '../../testing/registry/agents.ts';
import { ruleBody } from '../../testing/rules/rules.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const calendar = (more: object = {}) => ({
  displayName: 'Desk',
  timezone: 'Europe/Berlin',
  years: [{ year: 2027 }],
  ...more,
});

function ruleSpec(more: object = {}): object {
  const { key: _key, ...rest } = ruleBody({ status: 'disabled' }) as { key: string };
  return { ...rest, ...more };
}

/** One document of each kind; `more` adds fields to each spec. */
function everyKind(prefix: string, more: Record<string, object> = {}): TestDocument[] {
  const agent = `${prefix}-agent`;
  const specs: Record<string, object> = {
    Calendar: calendar(),
    TaskType: { displayName: 'Case' },
    Agent: agentSpec(),
    Process: processSpec({
      identity: { agent },
      calendar: `${prefix}-calendar`,
      stages: [
        {
          id: 'review',
          steps: [{ id: 'look', human: { taskType: `${prefix}-tasktype`, title: 'Look' } }],
        },
      ],
    }),
    WorkRule: ruleSpec({
      action: { kind: 'ensure_work', taskType: `${prefix}-tasktype`, fields: { title: 'Follow up' } },
    }),
    View: { title: 'Cases', blocks: [blockOf()] },
  };
  return Object.entries(specs).map(([kind, spec]) => ({
    kind,
    key: `${prefix}-${kind.toLowerCase()}`,
    spec: { ...spec, ...more[kind] },
  }));
}

const actionsOf = ({ changes }: { changes: { kind: string; action: string }[] }) =>
  Object.fromEntries(changes.map(({ kind, action }) => [kind, action]));
const allAre = (action: string) =>
  Object.fromEntries(
    ['Agent', 'Calendar', 'Process', 'TaskType', 'View', 'WorkRule'].map((kind) => [kind, action]),
  );

describe('a package of every kind', () => {
  test('is planned, applied, and then planned as unchanged', async () => {
    const named = { key: newKey('p') };
    const prefix = newKey('x');
    const { plan, applied } = await applyDocuments(baton.admin, named, everyKind(prefix));
    assert.deepEqual(actionsOf(plan), allAre('create'));
    assert.deepEqual(applied.planHash, plan.planHash);
    assert.deepEqual(
      applied.applied.map(({ kind, action, version }: any) => [kind, action, version]),
      ['Calendar', 'TaskType', 'Agent', 'Process', 'WorkRule', 'View'].map((kind) => [kind, 'create', 1]),
    );
    const again = await planDocuments(baton.admin, named, everyKind(prefix));
    assert.deepEqual(actionsOf(again), allAre('unchanged'));
    assert.ok(again.changes.every(({ fields }: any) => fields.length === 0));
    assert.equal(again.catalogEtag, applied.catalogEtag);
    const second = await applyDocuments(baton.admin, named, everyKind(prefix));
    assert.deepEqual(second.applied.applied, []);
    assert.equal((await done(baton.admin.get(`/calendars/${prefix}-calendar`))).package.key, named.key);
  });

  test('has the same plan regardless of the order of its files', async () => {
    const named = { key: newKey('p') };
    const documents = everyKind(newKey('x'));
    const hashOf = async (files: readonly object[]) =>
      (await done(baton.admin.post('/packages:plan', { package: { files } }))).planHash;
    const { files } = sourceOf(named, documents);
    const forward = await hashOf(files);
    assert.equal(await hashOf(files.toReversed()), forward);
    assert.equal(await hashOf([...files.slice(3), ...files.slice(0, 3)]), forward);
    assert.notEqual(await hashOf(files.slice(0, -1)), forward);
  });

  test('has the same result regardless of the order of its files', async () => {
    const named = { key: newKey('p') };
    const prefix = newKey('x');
    const changed = () => everyKind(prefix, { WorkRule: { description: 'Another one' } });
    const installHash = async (documents: ReturnType<typeof everyKind>) => {
      await applyDocuments(baton.admin, named, everyKind(prefix));
      await applyDocuments(baton.admin, named, documents);
      const { items } = await done(baton.admin.get(`/rules?key=${prefix}-workrule`));
      return items[0].package.installHash;
    };
    const forward = await installHash(changed());
    assert.equal(await installHash(changed().toReversed()), forward);
  });

  test('is changed field by field, retired when its document is removed, and restored', async () => {
    const named = { key: newKey('p') };
    const prefix = newKey('x');
    await applyDocuments(baton.admin, named, everyKind(prefix));
    const changed = everyKind(prefix, {
      Calendar: { displayName: 'Other desk' },
      TaskType: { description: 'Of a customer' },
      Agent: { displayName: 'Mason' },
      Process: { version: 2, description: 'Reads twice' },
      WorkRule: { description: 'Records the reason', status: 'enabled' },
      View: { title: 'All cases' },
    });
    const { plan, applied } = await applyDocuments(baton.admin, { ...named, version: '1.1' }, changed);
    assert.deepEqual(actionsOf(plan), allAre('update'));
    const fieldsOf = (kind: string) =>
      plan.changes
        .find((change: any) => change.kind === kind)
        .fields.map(({ path, before: from, after: to, owner, applies }: any) => [
          path,
          from,
          to,
          owner,
          applies,
        ]);
    assert.deepEqual(fieldsOf('Calendar'), [['/displayName', 'Desk', 'Other desk', 'package', true]]);
    assert.deepEqual(fieldsOf('WorkRule'), [
      ['/description', '', 'Records the reason', 'package', true],
      ['/status', 'disabled', 'enabled', 'package', true],
    ]);
    assert.deepEqual(plan.changes.find(({ kind }: any) => kind === 'TaskType').deprecates, [1]);
    assert.deepEqual(Object.fromEntries(applied.applied.map(({ kind, version }: any) => [kind, version])), {
      Agent: 2,
      Calendar: 2,
      Process: 2,
      TaskType: 2,
      View: 2,
      WorkRule: 2,
    });
    const planned = await planDocuments(baton.admin, { ...named, version: '1.1' }, changed);
    assert.deepEqual(actionsOf(planned), allAre('unchanged'));

    const agent = changed.filter(({ kind }) => kind === 'Agent');
    const gone = await applyDocuments(baton.admin, { ...named, version: '1.2' }, agent);
    assert.deepEqual(actionsOf(gone.plan), { ...allAre('retire'), Agent: 'unchanged' });
    assert.equal((await done(baton.admin.get(`/calendars/${prefix}-calendar`))).status, 'retired');
    assert.equal((await done(baton.admin.get(`/process-definitions/${prefix}-process`))).status, 'retired');
    const types = await done(baton.admin.get(`/task-types?key=${prefix}-tasktype&status=active`));
    assert.deepEqual(types.items, []);
    assert.deepEqual((await done(baton.admin.get(`/rules?key=${prefix}-workrule`))).items, []);
    await refused(baton.admin.get(`/views/${prefix}-view`), 404, 'not_found');

    const back = everyKind(prefix, { Process: { version: 3 } });
    const restored = await applyDocuments(baton.admin, { ...named, version: '1.3' }, back);
    assert.deepEqual(actionsOf(restored.plan), { ...allAre('restore'), Agent: 'update' });
    assert.equal((await done(baton.admin.get(`/calendars/${prefix}-calendar`))).status, 'active');
    const none = await applyDocuments(baton.admin, { ...named, version: '1.4' }, []);
    assert.deepEqual(actionsOf(none.plan), allAre('retire'));
    assert.equal((await done(baton.admin.get(`/agents/${prefix}-agent`))).status, 'retired');
    const late = await planDocuments(
      baton.admin,
      { ...named, version: '1.5' },
      back.filter(({ kind }) => kind === 'Agent'),
    );
    assert.equal(late.problems[0].code, 'agent_retired');
  });

  test('is renamed: a rule stays the same object, other kinds are created again and the old objects are retired', async () => {
    const named = { key: newKey('p') };
    const [old, renamed] = [newKey('x'), newKey('y')];
    await applyDocuments(baton.admin, named, everyKind(old));
    const [rule] = (await done(baton.admin.get(`/rules?key=${old}-workrule`))).items;
    const documents = everyKind(renamed, {
      Process: { identity: { agent: `${old}-agent` } },
    }).map((one) => (one.kind === 'Agent' ? { ...one, key: `${old}-agent` } : one));
    const renames = documents
      .filter(({ kind }) => kind !== 'Agent')
      .map(({ kind, key }) => ({ kind, from: key.replace(renamed, old), to: key }));
    const { plan, applied } = await applyDocuments(
      baton.admin,
      { ...named, version: '2', renames },
      documents,
    );
    assert.deepEqual(actionsOf(plan), { ...allAre('rename'), Agent: 'unchanged' });
    assert.equal(plan.changes.find(({ kind }: any) => kind === 'Calendar').renamedFrom, `${old}-calendar`);
    assert.equal(applied.applied.length, 5);
    const moved = await done(baton.admin.get(`/rules/${rule.id}`));
    assert.deepEqual([moved.key, moved.package.key], [`${renamed}-workrule`, named.key]);
    assert.equal((await done(baton.admin.get(`/calendars/${old}-calendar`))).status, 'retired');
    assert.equal((await done(baton.admin.get(`/process-definitions/${old}-process`))).status, 'retired');
    const again = await planDocuments(baton.admin, { ...named, version: '2', renames }, documents);
    assert.deepEqual(actionsOf(again), allAre('unchanged'));
  });
});

describe('a field that a person changed', () => {
  test('is preserved, unless the plan overwrites it', async () => {
    const named = { key: newKey('p') };
    const key = newKey('c');
    const desk = (more: object = {}) => [{ kind: 'Calendar', key, spec: calendar(more) }];
    await applyDocuments(baton.admin, named, desk());
    await done(baton.admin.post('/calendars', { key, spec: calendar({ displayName: 'By hand' }) }), 201);
    const plan = await planDocuments(baton.admin, named, desk());
    assert.deepEqual(plan.changes[0], {
      kind: 'Calendar',
      key,
      action: 'unchanged',
      renamedFrom: null,
      deprecates: [],
      fields: [{ path: '/displayName', before: 'By hand', after: 'Desk', owner: 'console', applies: false }],
    });
    const next = desk({ displayName: 'Third', years: [{ year: 2028 }] });
    const { applied } = await applyDocuments(baton.admin, { ...named, version: '2' }, next);
    assert.equal(applied.applied.length, 1);
    const { spec } = await done(baton.admin.get(`/calendars/${key}`));
    assert.deepEqual([spec.displayName, spec.years[0].year], ['By hand', 2028]);
    const left = await planDocuments(baton.admin, { ...named, version: '2' }, next);
    assert.deepEqual([left.changes[0].action, left.changes[0].fields[0].applies], ['unchanged', false]);
    const overwrite = { overwriteConsole: true };
    const taken = await applyDocuments(baton.admin, { ...named, version: '2' }, next, overwrite);
    assert.equal(taken.plan.changes[0].action, 'update');
    assert.equal((await done(baton.admin.get(`/calendars/${key}`))).spec.displayName, 'Third');
    assert.deepEqual(
      (await planDocuments(baton.admin, { ...named, version: '2' }, next)).changes[0].fields,
      [],
    );
  });

  test('in an object that was never applied, it belongs to the person; in an object of an installer, to the package', async () => {
    const type = await done(baton.admin.post('/task-types', { key: newKey('t'), displayName: 'Old' }), 201);
    const documents = [{ kind: 'TaskType', key: type.key, spec: { displayName: 'New' } }];
    const named = { key: newKey('p') };
    const [change] = (await planDocuments(baton.admin, named, documents)).changes;
    assert.equal(change.action, 'unchanged');
    assert.ok(change.fields.every(({ owner, applies }: any) => owner === 'console' && !applies));
    const objects = [{ kind: 'TaskType', key: type.key }];
    await done(baton.admin.post('/packages:record', { package: { ...named, version: '0' }, objects }));
    const [recorded] = (await planDocuments(baton.admin, named, documents)).changes;
    assert.equal(recorded.action, 'update');
    const { outside } = await planDocuments(baton.admin, named, []);
    assert.deepEqual(outside, [{ kind: 'TaskType', key: type.key, appliedBy: 'installer' }]);
  });

  test('a process is replaced or preserved as a whole, and an agent stopped by a person stays stopped', async () => {
    const named = { key: newKey('p') };
    const prefix = newKey('x');
    const [Agent, Process] = ['Agent', 'Process'];
    const documents = everyKind(prefix);
    await applyDocuments(baton.admin, named, documents);
    const own = documents.find(({ kind }) => kind === Process)?.spec as Record<string, unknown>;
    const body = { key: `${prefix}-process`, spec: { ...own, version: 2, description: 'By hand' } };
    await done(baton.admin.post('/process-definitions', body), 201);
    await done(baton.admin.patch(`/agents/${prefix}-agent/state`, { state: 'stopped' }));
    const next = everyKind(prefix, {
      Process: { version: 3, displayName: 'Third' },
      Agent: { displayName: 'Mason' },
    });
    const { plan } = await applyDocuments(baton.admin, { ...named, version: '2' }, next);
    assert.deepEqual(actionsOf(plan)[Process], 'unchanged');
    assert.deepEqual(actionsOf(plan)[Agent], 'update');
    const agent = await done(baton.admin.get(`/agents/${prefix}-agent`));
    assert.deepEqual([agent.displayName, agent.state], ['Mason', 'stopped']);
    await applyDocuments(baton.admin, { ...named, version: '2' }, next, { overwriteConsole: true });
    assert.equal((await done(baton.admin.get(`/process-definitions/${prefix}-process`))).version, 3);
    assert.equal((await done(baton.admin.get(`/agents/${prefix}-agent`))).state, 'running');
  });
});

test('the plan of a process lists the instances that would take another path', async () => {
  const named = { key: newKey('p') };
  const key = newKey('q');
  const { key: actor } = await makeProcessAgent(baton);
  const flow = (version: number, n: string, more: object = {}) => [
    {
      kind: 'Process',
      key,
      spec: specOf(actor, [setStep('count', { n }), humanStep('look')], {
        version,
        start: { on: { observation: 'never-at-all' }, key: 'event.id' },
        ...more,
      }),
    },
  ];
  await applyDocuments(baton.admin, named, flow(1, '1'));
  const { package: link } = await done(baton.admin.get(`/process-definitions/${key}`));
  assert.equal(link.key, named.key);
  const listed = await done(baton.admin.get(`/process-definitions?package=${named.key}`));
  assert.deepEqual(
    listed.items.map((one: { key: string; package: object }) => [one.key, one.package]),
    [[key, link]],
  );
  const { id } = await startProcessInstance(baton.admin, key);
  const behaviourOf = async (documents: TestDocument[], options: object = {}, by = baton.admin) =>
    (await planDocuments(by, { ...named, version: '2' }, documents, options)).processes[0].behaviour;
  const none = { replayed: 0, diverged: 0, instanceIds: [] };
  const same = flow(2, '1', { description: 'The same again' });
  assert.deepEqual(await behaviourOf(same), { ...none, replayed: 1 });
  assert.deepEqual(await behaviourOf(flow(2, '2')), { replayed: 1, diverged: 1, instanceIds: [id] });
  assert.deepEqual(await behaviourOf(flow(2, '2'), { replayLimit: 0 }), none);
  const blind = await baton.actor({ permissions: ['packages.plan'] });
  assert.deepEqual(await behaviourOf(flow(2, '2'), {}, blind), none);
});

describe('settings of a package', () => {
  const settings = (properties: object) => [
    {
      kind: 'Settings',
      key: 'settings',
      spec: { title: 'Desk', schema: { type: 'object', properties }, uischema: { order: [] } },
    },
  ];

  test('are declared, changed and removed; values that do not match are a warning', async () => {
    const named = { key: newKey('p') };
    const { plan } = await applyDocuments(baton.admin, named, settings({ tone: { type: 'string' } }));
    assert.deepEqual([plan.settings.action, plan.settings.previousSchemaHash], ['create', null]);
    const path = `/packages/${named.key}/settings`;
    const declared = await done(baton.admin.get(path));
    assert.deepEqual(
      [declared.title, declared.packageVersion, declared.schemaHash],
      ['Desk', '1.0', plan.settings.schemaHash],
    );
    await done(baton.admin.put(path, { values: { tone: 'kind' } }, { 'if-match': 'package-settings-0' }));
    const next = settings({ tone: { type: 'integer' } });
    const second = await applyDocuments(baton.admin, named, next);
    assert.equal(second.plan.settings.action, 'update');
    assert.deepEqual(
      second.plan.problems.map(({ code, severity, path: at }: any) => [code, severity, at]),
      [['settings_invalid', 'warning', '/tone']],
    );
    assert.equal((await planDocuments(baton.admin, named, next)).settings.action, 'unchanged');
    assert.equal((await applyDocuments(baton.admin, named, [])).plan.settings.action, 'retire');
    await refused(baton.admin.get(path), 404, 'settings_not_declared');
    assert.equal((await planDocuments(baton.admin, named, [])).settings, null);
  });

  test('that are not a schema are a problem', async () => {
    const wrong = [{ kind: 'Settings', key: 's', spec: { title: 'x', schema: { type: 'nothing' } } }];
    const { problems } = await planDocuments(baton.admin, { key: newKey('p') }, wrong);
    assert.deepEqual(
      problems.map(({ code, file }: any) => [code, file]),
      [['invalid_json_schema', 'Settings-0.yaml']],
    );
  });
});

describe('a plan', () => {
  test('reports refusals of the writers with file and path', async () => {
    const key = newKey('k');
    const faults: [TestDocument, string, string][] = [
      [{ kind: 'Calendar', key: 'Ä', spec: calendar() }, 'invalid_document', '/key'],
      [{ kind: 'Calendar', key, spec: { displayName: 1 } }, 'invalid_document', '/spec/displayName'],
      [{ kind: 'Calendar', key, spec: calendar({ timezone: 'Mars' }) }, 'invalid_calendar', '/spec/timezone'],
      [
        { kind: 'TaskType', key, spec: { displayName: 'x', fieldSchema: [] } },
        'invalid_document',
        '/spec/fieldSchema',
      ],
      [
        {
          kind: 'TaskType',
          key,
          spec: { displayName: 'x', artifactSchema: { outputs: [{ key: 'a', type: 'absent' }] } },
        },
        'unknown_artifact_type',
        '/spec/artifactSchema/outputs/0/type',
      ],
      [
        { kind: 'Agent', key, spec: agentSpec({ work: { taskTypes: ['absent'] } }) },
        'unknown_reference',
        '/spec/work/taskTypes/0',
      ],
      [{ kind: 'Process', key, spec: { version: 1 } }, 'schema_violation', '/spec/displayName'],
      [
        { kind: 'WorkRule', key, spec: ruleSpec({ trigger: {} }) },
        'invalid_rule_trigger',
        '/spec/trigger/kind',
      ],
      [{ kind: 'View', key, spec: { title: 'x', blocks: [] } }, 'schema_violation', '/spec/blocks'],
    ];
    for (const [document, code, path] of faults) {
      const { problems } = await planDocuments(baton.admin, { key: newKey('p') }, [document]);
      assert.deepEqual(
        [problems[0].code, problems[0].path, problems[0].file],
        [code, path, `${document.kind}-0.yaml`],
      );
    }
    const process = { kind: 'Process', key, spec: processSpec({ identity: { agent: 'absent' } }) };
    const { problems } = await planDocuments(baton.admin, { key: newKey('p') }, [process]);
    assert.deepEqual([problems[0].code, problems[0].path], ['unknown_agent', '/spec/identity/agent']);
  });

  test('of an unreadable package has its problems and no change', async () => {
    const files = [{ path: 'a.yaml', content: 'a: [' }];
    const plan = await done(baton.admin.post('/packages:plan', { package: { files } }));
    assert.deepEqual([plan.package, plan.changes, plan.problems.length], [null, [], 2]);
  });

  test('creates processes and rules in its workspace, and finds no hidden workspace', async () => {
    const workspace = await done(baton.admin.post('/workspaces', { slug: newKey('w'), name: 'W' }), 201);
    const prefix = newKey('x');
    const named = { key: newKey('p') };
    const workspaceId = workspace.id;
    await applyDocuments(baton.admin, named, everyKind(prefix), { workspaceId });
    assert.equal(
      (await done(baton.admin.get(`/process-definitions/${prefix}-process`))).workspaceId,
      workspaceId,
    );
    const again = await planDocuments(baton.admin, named, everyKind(prefix), { workspaceId });
    assert.deepEqual(actionsOf(again), allAre('unchanged'));
    const elsewhere = await planDocuments(baton.admin, named, everyKind(prefix));
    assert.ok(elsewhere.problems.some(({ path }: any) => path === '/spec/workspaceId'));
    const body = { package: sourceOf(named, []), workspaceId };
    await refused(baton.otherAdmin.post('/packages:plan', body), 404, 'not_found');
    const apply = { ...body, planHash: `sha256:${'0'.repeat(64)}` };
    await refused(baton.otherAdmin.post('/packages:apply', apply), 404, 'not_found');
  });

  test('reveals nothing about objects in other workspaces to callers with partial visibility', async () => {
    const workspace = await done(baton.admin.post('/workspaces', { slug: newKey('w'), name: 'W' }), 201);
    const prefix = newKey('x');
    const named = { key: newKey('p') };
    await applyDocuments(baton.admin, named, everyKind(prefix), { workspaceId: workspace.id });
    const { person: narrow } = await makeNarrowPerson(baton);
    const plan = await planDocuments(narrow, { ...named, version: '2' }, []);
    assert.deepEqual(Object.keys(actionsOf(plan)).sort(), ['Agent', 'Calendar', 'TaskType', 'View']);
    const rule = everyKind(prefix).filter(({ kind }) => kind === 'WorkRule');
    const named1 = await planDocuments(narrow, { ...named, version: '2' }, rule);
    assert.equal(named1.problems[0].code, 'not_found');
    await refused(
      narrow.post('/packages:plan', { package: sourceOf(named, []), workspaceId: workspace.id }),
      404,
      'not_found',
    );
  });

  test('changes no object of another package, and no key of an agent', async () => {
    const [first, second] = [{ key: newKey('p') }, { key: newKey('p') }];
    const documents = [
      { kind: 'Calendar', key: newKey('c'), spec: calendar() },
      { kind: 'Agent', key: newKey('a'), spec: agentSpec() },
    ];
    await applyDocuments(baton.admin, first, documents);
    const { problems, changes } = await planDocuments(baton.admin, second, documents.slice(0, 1));
    assert.deepEqual([changes, problems[0].code, problems[0].path], [[], 'invalid_document', '/key']);
    const key = newKey('a');
    const renames = [{ kind: 'Agent', from: documents[1]?.key, to: key }];
    const renamed = await planDocuments(baton.admin, { ...first, renames }, [
      { kind: 'Agent', key, spec: agentSpec() },
    ]);
    assert.equal(renamed.problems[0].code, 'invalid_document');
  });

  test('of more than 100 changes cannot be applied', async () => {
    const documents = Array.from({ length: 101 }, () => ({
      kind: 'TaskType',
      key: newKey('t'),
      spec: { displayName: 'T' },
    }));
    const { problems, changes } = await planDocuments(baton.admin, { key: newKey('p') }, documents);
    assert.deepEqual([changes.length, problems.length, problems[0].severity], [101, 1, 'error']);
  });

  test('requires packages.plan', async () => {
    const nobody = await baton.actor({ permissions: ['packages.test'] });
    await refused(
      nobody.post('/packages:plan', { package: sourceOf({ key: 'p' }, []) }),
      403,
      'permission_denied',
    );
  });
});
