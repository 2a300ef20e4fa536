import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Db } from '@baton/kernel/database/db';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeFamily } from '../../testing/execution/children.ts';
import { done, makeRun, makeWorker, openSession, refused } from '../../testing/leases.ts';
import { configure, makeProject } from '../../testing/organisation/projects.ts';
import type { Context } from '../context.ts';
import { listTools } from './tools.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

let number = 0;
const speaking = (protocol: string) => ({
  harness: { type: 'test', protocolVersion: '2', capabilities: [`skills.protocol.${protocol}`] },
});
async function makeSkill(more: object = {}) {
  return done(baton.admin.post('/skills', { name: `tool ${(number += 1)}`, protocol: 'mcp', ...more }), 201);
}
async function give(actor: Actor, more: object = {}) {
  const skill = await makeSkill(more);
  await done(baton.admin.post(`/principals/${actor.principalId}/skills`, { skillId: skill.id }), 201);
  return skill;
}
const disable = (id: string) =>
  done(baton.admin.patch(`/skills/${id}`, { status: 'disabled' }, { 'if-match': 'skill-1' }));
const namesOf = async (actor: Actor, query = '') =>
  (await done(actor.get(`/tools${query}`))).items.map(({ name }: { name: string }) => name);

describe('GET /tools', () => {
  test('lists the skills of the caller that are not disabled, newest first, with the hashes of the view', async () => {
    const agent = await baton.actor();
    const first = await give(agent, { description: 'x'.repeat(300) });
    const second = await give(agent, { protocol: 'opencode', version: '2.0' });
    await disable((await give(agent)).id);
    await makeSkill();
    const { status, body, headers } = await agent.get('/tools');
    assert.equal(status, 200);
    const facts = { status: 'active', visible: true, reason: 'assigned_and_protocol_supported' };
    assert.deepEqual(body.items, [
      { id: second.id, name: second.name, version: '2.0', protocol: 'opencode', summary: '', ...facts },
      {
        id: first.id,
        name: first.name,
        version: '1.0.0',
        protocol: 'mcp',
        summary: 'x'.repeat(200),
        ...facts,
      },
    ]);
    const { catalogRevision, policyRevision, viewHash, ...view } = body.view;
    assert.deepEqual(view, { mode: 'eager', returned: 2, hasMore: false });
    for (const hash of [catalogRevision, policyRevision, viewHash])
      assert.match(hash, /^sha256:[0-9a-f]{64}$/);
    assert.equal(headers.get('etag'), `"${viewHash}"`);
    assert.equal(body.nextCursor, null);
  });

  test('cuts a summary between characters', async () => {
    const agent = await baton.actor();
    await give(agent, { description: '🙂'.repeat(201) });
    assert.equal((await done(agent.get('/tools'))).items[0].summary, '🙂'.repeat(200));
  });

  test('is paginated, and the view hash depends on the existence of further pages', async () => {
    const agent = await baton.actor();
    const names: string[] = [];
    for (let n = 0; n < 3; n += 1) names.unshift((await give(agent)).name);
    const first = await done(agent.get('/tools?limit=2'));
    assert.deepEqual([first.view.returned, first.view.hasMore], [2, true]);
    const second = await done(agent.get(`/tools?limit=2&cursor=${first.nextCursor}`));
    assert.deepEqual([second.view.returned, second.view.hasMore], [1, false]);
    assert.deepEqual(
      [...first.items, ...second.items].map(({ name }) => name),
      names,
    );
    assert.notEqual(first.view.viewHash, second.view.viewHash);
    await refused(agent.get('/tools?limit=0'), 422, 'invalid_limit');
    await refused(agent.get('/tools?limit=201'), 422, 'invalid_limit');
    await refused(agent.get('/tools?cursor=x'), 422, 'invalid_cursor');
    await refused(agent.get(`/tools?cursor=x&runId=${newId()}`), 422, 'invalid_cursor');
  });

  test('finds words in name or description, ignoring case; % and _ are literal', async () => {
    const agent = await baton.actor();
    const named = async (name: string, description: string) => {
      await give(agent, { name, description });
      return name;
    };
    const deploy = await named('Deploy_now', 'Ships 100% of it.');
    const build = await named('build', 'Makes what DEPLOY ships.');
    const find = (query: string) => namesOf(agent, `?query=${encodeURIComponent(query)}`);
    assert.deepEqual(await find('deploy'), [build, deploy]);
    assert.deepEqual(await find('  SHIPS   deploy '), [build, deploy]);
    assert.deepEqual(await find('y_n'), [deploy]);
    assert.deepEqual(await find('0%'), [deploy]);
    assert.deepEqual(await find('d%y'), []);
    assert.deepEqual(await find('ships makes'), [build]);
    assert.deepEqual(await find(' '), [build, deploy]);
    const search = await done(agent.get('/tools?query=build'));
    assert.equal(search.view.mode, 'search');
    assert.equal((await done(agent.get('/tools?query='))).view.mode, 'eager');
    for (const query of ['x'.repeat(201), 'a b c d e f g h i'])
      await refused(
        agent.get(`/tools?query=${encodeURIComponent(query)}&limit=0&cursor=x`),
        422,
        'invalid_tool_query',
      );
    const stranger = await baton.actor({ permissions: ['org.read'] });
    await refused(stranger.get(`/tools?query=${'x'.repeat(201)}`), 403, 'permission_denied');
    await refused(agent.get('/tools?query=x&limit=0'), 422, 'invalid_limit');
    assert.deepEqual(await find('a '.repeat(8)), [build]);
    assert.deepEqual(await find('🙂'.repeat(200)), []);
  });

  test('returns 304 while catalogue and policy are unchanged, but not after either changed', async () => {
    const agent = await baton.actor();
    const skill = await give(agent);
    const tagOf = async () => (await agent.get('/tools')).headers.get('etag') as string;
    let tag = await tagOf();
    for (const sent of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const { status, body, headers } = await agent.get('/tools', { 'if-none-match': sent });
      assert.deepEqual([status, body, headers.get('etag')], [304, '', tag]);
    }
    assert.equal((await agent.get('/tools?limit=3', { 'if-none-match': tag })).status, 200);
    assert.equal((await agent.get('/tools?query=x', { 'if-none-match': tag })).status, 200);
    const changes = [
      () => makeSkill(),
      () =>
        done(baton.admin.patch(`/skills/${skill.id}`, { description: 'other' }, { 'if-match': 'skill-1' })),
      () => give(agent),
      () => openSession(agent, speaking('http')),
    ];
    for (const act of changes) {
      await act();
      assert.equal((await agent.get('/tools', { 'if-none-match': tag })).status, 200, String(act));
      tag = await tagOf();
    }
    assert.equal((await agent.get('/tools', { 'if-none-match': tag })).status, 304);
    const other = await baton.actor();
    assert.notEqual((await other.get('/tools')).headers.get('etag'), tag);
  });

  test('shows tools that the live sessions cannot call as not visible; no protocol is no filter', async () => {
    const agent = await baton.actor();
    for (const protocol of ['mcp', 'http']) await give(agent, { protocol });
    const seen = async () =>
      (await done(agent.get('/tools'))).items.map(({ visible, reason }: any) => [visible, reason]);
    const callable = [true, 'assigned_and_protocol_supported'];
    const lacking = [false, 'protocol_not_supported_by_harness'];
    assert.deepEqual(await seen(), [callable, callable]);
    await openSession(agent);
    assert.deepEqual(await seen(), [callable, callable]);
    const session = await openSession(agent, speaking('mcp'));
    assert.deepEqual(await seen(), [lacking, callable]);
    await done(agent.post(`/sessions/${session}:close`));
    assert.deepEqual(await seen(), [callable, callable]);
  });
});

describe('with a run', () => {
  test('uses the session of the run, and refuses the run of another principal', async () => {
    const [worker, other] = [await makeWorker(baton), await makeWorker(baton)];
    await give(worker.actor);
    const { run } = await makeRun(baton, worker);
    await openSession(worker.actor, speaking('http'));
    const [tool] = (await done(worker.actor.get('/tools'))).items;
    assert.equal(tool.visible, false);
    const [ofRun] = (await done(worker.actor.get(`/tools?runId=${run.id}`))).items;
    assert.equal(ofRun.visible, true);
    const ofOther = (await makeRun(baton, other)).run.id;
    for (const runId of [ofOther, newId()]) {
      assert.deepEqual(await refused(worker.actor.get(`/tools?runId=${runId}`), 404, 'not_found'), { runId });
      await refused(worker.actor.get(`/tools/${tool.id}?runId=${runId}`), 404, 'not_found');
    }
  });

  test('omits tools that the projects above its task do not allow', async () => {
    const worker = await makeWorker(baton);
    const names = [];
    for (const protocol of ['mcp', 'http']) names.push((await give(worker.actor, { protocol })).name);
    const project = await makeProject(baton);
    const task = { workspaceId: project.workspaceId };
    const { run } = await makeRun(baton, worker, { task });
    const tagOf = async () => (await worker.actor.get(`/tools?runId=${run.id}`)).headers.get('etag');
    assert.deepEqual(await namesOf(worker.actor, `?runId=${run.id}`), names.toReversed());
    const before = await tagOf();
    await configure(baton, project.id, { governance: { allowedSkillProtocols: ['mcp'] } });
    assert.deepEqual(await namesOf(worker.actor, `?runId=${run.id}`), [names[0]]);
    assert.notEqual(await tagOf(), before);
    const hidden = encodeURIComponent(names[1] as string);
    assert.deepEqual(
      await refused(worker.actor.get(`/tools/${hidden}?runId=${run.id}`), 404, 'tool_not_found'),
      {
        tool: names[1],
      },
    );
    await done(worker.actor.get(`/tools/${hidden}`));
  });

  test('omits tools that the handle of a launched run does not grant', async () => {
    const [parent, child] = [await makeWorker(baton), await makeWorker(baton)];
    const [one, two] = [await give(parent.actor), await give(parent.actor)];
    for (const { id: skillId } of [one, two])
      await done(baton.admin.post(`/principals/${child.actor.principalId}/skills`, { skillId }), 201);
    const grant = { skills: [`${one.name}@1.0.0`] };
    const { run } = (await makeFamily(baton, { parent, child }, { grant })).child;
    assert.deepEqual(await namesOf(child.actor, `?runId=${run.id}`), [one.name]);
    assert.deepEqual(await namesOf(child.actor), [two.name, one.name]);
    await refused(child.actor.get(`/tools/${two.id}?runId=${run.id}`), 404, 'tool_not_found');
  });

  test('returns 404 for a person who no longer sees its task', async () => {
    const person = await baton.actor({ kind: 'human' });
    const worker = { actor: person, sessionId: await openSession(person) };
    const { workspaceId } = await makeProject(baton);
    const { run } = await makeRun(baton, worker, { task: { workspaceId } });
    await done(person.get(`/tools?runId=${run.id}`));
    await baton.pool.run(sql`
      update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`);
    assert.deepEqual(await refused(person.get(`/tools?runId=${run.id}`), 404, 'not_found'), {
      runId: run.id,
    });
  });
});

describe('GET /tools/{ref}', () => {
  test('returns a tool by id, by name and version, or by name: the newest active version, or the newest', async () => {
    const agent = await baton.actor();
    const name = `many ${newId()}`;
    const versions = [];
    for (const version of ['1', '2', '3']) versions.push(await give(agent, { name, version }));
    const [first, second, third] = versions as [any, any, any];
    const read = async (ref: string) => (await done(agent.get(`/tools/${encodeURIComponent(ref)}`))).id;
    assert.equal(await read(first.id), first.id);
    assert.equal(await read(`${name}@2`), second.id);
    assert.equal(await read(name), third.id);
    await done(baton.admin.patch(`/skills/${third.id}`, { status: 'deprecated' }, { 'if-match': 'skill-1' }));
    assert.equal(await read(name), second.id);
    assert.equal(await read(`${name}@3`), third.id);
  });

  test('a missing tool and a forbidden one return the same response', async () => {
    const agent = await baton.actor();
    const [taken, disabled] = [await makeSkill(), await give(agent)];
    await disable(disabled.id);
    for (const tool of [newId(), 'absent', 'absent@1', taken.id, taken.name, disabled.id, disabled.name])
      assert.deepEqual(
        await refused(agent.get(`/tools/${encodeURIComponent(tool)}`), 404, 'tool_not_found'),
        {
          tool,
        },
      );
  });

  test('has the first 4000 characters of the description and the schema of the inputs', async () => {
    const agent = await baton.actor();
    const inputSchema = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
    const { id } = await give(agent, { description: 'y'.repeat(5000), inputSchema });
    const tool = await done(agent.get(`/tools/${id}`));
    assert.deepEqual([tool.description.length, tool.summary.length], [4000, 200]);
    assert.deepEqual([tool.inputSchema, tool.schemaRedactions], [inputSchema, []]);
    const bare = await give(agent);
    assert.equal((await done(agent.get(`/tools/${bare.id}`))).inputSchema, null);
    const contract = {
      ...{ inputs: { required: ['a'] }, outputs: {} },
      implementation: { protocol: 'local', entrypoint: 'tools.test:f' },
    };
    const called = await give(agent, {
      ...{ protocol: null, sideEffects: 'none', riskLevel: 'low', contract },
    });
    assert.deepEqual((await done(agent.get(`/tools/${called.id}`))).inputSchema, { required: ['a'] });
  });

  test('omits from the schema unknown keywords, defaults, examples and properties named like a secret', async () => {
    const agent = await baton.actor();
    const text = { type: 'string' };
    const inputSchema = {
      ...{ $comment: 'c', default: {}, examples: [1], 'x-hint': { default: 1 }, title: 'T', type: 'object' },
      properties: {
        ...{ default: { ...text, default: 'kept as a name' }, api_key: { ...text, const: 'k' } },
        ...{ list: { items: { properties: { 'x~token/a': text } } }, __proto: text },
      },
      $defs: { secretly: { anyOf: [{ examples: [2], minimum: 1 }, true] } },
      ...{ patternProperties: { '^x-': false }, not: { enum: ['a', { b: 'c' }] } },
    };
    const { id } = await give(agent, { inputSchema });
    const tool = await done(agent.get(`/tools/${id}`));
    const redacted = { redacted: true, reason: 'secret_material' };
    assert.deepEqual(tool.inputSchema, {
      ...{ title: 'T', type: 'object' },
      properties: {
        ...{ default: text, api_key: redacted },
        ...{ list: { items: { properties: { 'x~token/a': redacted } } }, __proto: text },
      },
      $defs: { secretly: { anyOf: [{ minimum: 1 }, true] } },
      ...{ patternProperties: { '^x-': false }, not: { enum: ['a', { b: 'c' }] } },
    });
    assert.deepEqual(tool.schemaRedactions, [
      { path: '/properties/list/items/properties/x~0token~1a', reason: 'secret_material' },
      { path: '/properties/api_key', reason: 'secret_material' },
    ]);
  });

  test('a property may be named __proto__', async () => {
    const agent = await baton.actor();
    const body = `{"name": "proto", "protocol": "mcp", "inputSchema": {"properties": {"__proto__": {"type": "string"}}}}`;
    const { id: skillId } = await done(baton.admin.post('/skills', body), 201);
    await done(baton.admin.post(`/principals/${agent.principalId}/skills`, { skillId }), 201);
    const { inputSchema } = await done(agent.get(`/tools/${skillId}`));
    assert.equal(JSON.stringify(inputSchema), '{"properties":{"__proto__":{"type":"string"}}}');
  });

  test('refuses a schema of more than 32 KiB, and accepts the deepest and widest that can be stored', async () => {
    const agent = await baton.actor();
    const large = await give(agent, { inputSchema: { title: 'z'.repeat(33_000) } });
    const details = await refused(agent.get(`/tools/${large.id}`), 422, 'invalid_tool_schema');
    assert.deepEqual([details.maxBytes, details.actualBytes], [32_768, 33_012]);
    let deep: object = {};
    for (let n = 0; n < 19; n += 1) deep = { not: deep };
    const widest = Object.fromEntries(Array.from({ length: 1200 }, (_, n) => [`token${n}`, {}]));
    for (const inputSchema of [deep, { properties: widest }]) {
      const { id } = await give(agent, { inputSchema });
      await done(agent.get(`/tools/${id}`));
    }
  });
});

describe('a thousand tools', () => {
  test('a page takes one query and a known view none, regardless of the number of tools', async () => {
    const agent = await baton.actor();
    await baton.pool.run(sql`
      with made as (
        insert into skills (id, tenant_id, name, version, description, protocol)
        select gen_random_uuid(), ${baton.tenantId}, 'thousand ' || n, '1', 'number ' || n, 'mcp'
        from generate_series(1, 1000) n
        returning id
      )
      insert into skill_assignments (id, tenant_id, principal_id, skill_id)
      select gen_random_uuid(), ${baton.tenantId}, ${agent.principalId}, id from made`);
    await baton.pool.run(sql`analyze skills, skill_assignments`);
    const names = new Set<string>();
    for (let cursor = ''; ; ) {
      const page = await done(agent.get(`/tools?limit=200${cursor}`));
      for (const { name } of page.items) names.add(name);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    assert.equal(names.size, 1000);
    assert.deepEqual(await namesOf(agent, '?query=thousand+1000'), ['thousand 1000']);
    const whole = await callOn(agent, {});
    assert.deepEqual([whole.status, whole.statements], [200, 2]);
    assert.ok(whole.rowsRead <= 12_000, `${whole.rowsRead} rows`);
    const known = await callOn(agent, { ifNoneMatch: whole.headers['etag'] });
    assert.deepEqual([known.status, known.statements], [304, 1]);
  });
});

/** Calls the handler with the real store, and counts its statements and the rows that their plans read. */
async function callOn(
  { principalId, tenantId }: Actor,
  { ifNoneMatch }: { ifNoneMatch?: string | undefined },
) {
  const counted = { statements: 0, rowsRead: 0 };
  const explain = async ({ text, values }: Statement<unknown>) => {
    counted.statements += 1;
    const [found] = await baton.pool.rows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
      text: `explain (analyze, format json) ${text}`,
      values,
    });
    counted.rowsRead += rowsOf((found as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan);
  };
  const db: Db = {
    rows: async (statement) => (await explain(statement), baton.pool.rows(statement)),
    row: async (statement) => (await explain(statement), baton.pool.row(statement)),
    run: (statement) => baton.pool.run(statement),
  };
  const caller = { tenantId, principalId, kind: 'agent', iamPrincipalId: null, permissions: new Set() };
  const context = { db, tenantId, caller, ifNoneMatch } as unknown as Context;
  const answer = await listTools(context, {}, { limit: 200, cursor: undefined });
  return { ...counted, status: answer.status, headers: answer.headers };
}

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: PlanNode[];
}

function rowsOf(node: PlanNode): number {
  const own = node['Actual Rows'] * node['Actual Loops'];
  return own + (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), 0);
}

test('needs tasks.read', async () => {
  const agent = await baton.actor({ permissions: ['org.read'] });
  for (const path of ['/tools', `/tools/${newId()}`]) {
    const details = await refused(agent.get(path), 403, 'permission_denied');
    assert.deepEqual(details.required, ['tasks.read']);
  }
});
