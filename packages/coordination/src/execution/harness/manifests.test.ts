import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  eventsOf,
  makeRun,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { configure, makeProject, makeTemplate } from '../../testing/organisation/projects.ts';

let baton: TestCoordination;
let worker: Worker;
let rival: Worker;
before(async () => {
  baton = await startCoordination();
  [worker, rival] = [
    await makeWorker(baton, { permissions: ['tasks.read', 'tasks.claim', 'sessions.open', 'events.read'] }),
    await makeWorker(baton),
  ];
});
after(() => baton.close());

type Made = Awaited<ReturnType<typeof makeRun>>;
const keysOf = ({ claim }: Made) => ({ claimId: claim.id, fencingToken: claim.fencingToken });
const read = (runId: string, query = '') => done(worker.actor.get(`/runs/${runId}/harness-manifest${query}`));
const list = (runId: string, query = '') => worker.actor.get(`/runs/${runId}/harness-manifests${query}`);
const compile = (made: Made, body: object = {}, by = worker) =>
  by.actor.post(`/runs/${made.run.id}/harness-manifest:compile`, { ...keysOf(made), ...body });
const remark = (runId: string, body: object = {}, by = worker) =>
  by.actor.post(`/runs/${runId}/harness-manifest/ephemeral`, { kind: 'note', summary: 'hm', ...body });

/** The documented hash: sorted keys, no white space, NFC, UTF-8. */
function hashOf(document: unknown): string {
  const canonical = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value).normalize('NFC');
    const members = Object.entries(value).map(([key, item]) => [key.normalize('NFC'), item] as const);
    members.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join()}}`;
  };
  return `sha256:${createHash('sha256').update(canonical(document)).digest('hex')}`;
}

describe('a start of a run', () => {
  test('records version 1: principal, run, tools and budgets', async () => {
    const made = await makeRun(baton, worker, {
      run: { maxTokens: 10, maxCostMicros: 20, maxActions: 3, maxDurationSeconds: 60 },
    });
    const { task, claim, run } = made;
    const manifest = await read(run.id);
    const { baseHash, captured, createdAt, ...rest } = manifest;
    const { iamPrincipalId, principalId } = worker.actor;
    assert.deepEqual(rest, {
      runId: run.id,
      version: 1,
      schemaVersion: 1,
      reason: 'run_started',
      base: {
        identity: {
          tenantId: baton.tenantId,
          principalId,
          kind: 'agent',
          iamPrincipalId,
          permissions: ['events.read', 'sessions.open', 'tasks.claim', 'tasks.read'],
          sessionId: worker.sessionId,
          onBehalfOf: null,
        },
        run: {
          id: run.id,
          taskId: task.id,
          taskPublicId: task.publicId,
          typeKey: 'task',
          typeVersion: 1,
          workspaceId: null,
          claimId: claim.id,
          fencingToken: 1,
          attempt: 1,
          agentRevisionId: null,
          instructionsHash: null,
        },
        projectPolicy: null,
        toolPolicy: [],
        budgets: { maxDurationSeconds: 60, maxActions: 3, maxTokens: 10, maxCostMicros: 20, currency: 'USD' },
        model: null,
        redaction: null,
        workerProfile: null,
        executionBackend: null,
      },
      provenance: {
        identity: 'server',
        run: 'server',
        projectPolicy: 'server',
        toolPolicy: 'server',
        budgets: 'server',
      },
      ephemeral: [],
      createdBy: principalId,
    });
    assert.equal(baseHash, hashOf(manifest.base));
    assert.ok(createdAt >= run.startedAt);
    assert.deepEqual(captured.entityVersions, { task: 2, run: 1 });
    assert.equal(captured.contextPackId, null);
    await journalIsStable(baton.pool);
    const { items } = await done(
      worker.actor.get(`/events?cursor=${captured.eventCursor}&entityId=${run.id}`),
    );
    assert.deepEqual(
      items.map(({ type }: { type: string }) => type),
      ['run.started'],
    );
  });

  test('lists the assigned skills as tools, and those that the harness can execute', async () => {
    const skills = [];
    for (const [name, protocol] of [
      ['scan', 'http'],
      ['lint', 'mcp'],
      ['old', 'mcp'],
    ]) {
      const body = { name, version: '1', protocol, sideEffects: 'none' };
      const { id: skillId } = await done(baton.admin.post('/skills', body), 201);
      await done(baton.admin.post(`/principals/${rival.actor.principalId}/skills`, { skillId }), 201);
      skills.push({ id: skillId, name, version: '1', protocol });
    }
    const [scan, lint, old] = skills;
    await baton.pool.run(sql`update skills set status = 'disabled' where id = ${old?.id}`);
    const harness = { type: 'test', capabilities: ['skills.protocol.mcp'] };
    const sessionId = await openSession(rival.actor, { harness });
    const limited = await makeRun(baton, { ...rival, sessionId });
    const fits = { executableByHarness: true, allowedByGovernance: true };
    const supported = { ...fits, visible: true, reason: 'assigned_and_protocol_supported' };
    const disabled = { ...old, ...fits, visible: false, reason: 'skill_disabled' };
    const unfit = { executableByHarness: false, visible: false, reason: 'protocol_not_supported_by_harness' };
    const toolsOf = async ({ run }: Made) => (await read(run.id)).base.toolPolicy;
    const tools = [{ ...lint, ...supported }, disabled, { ...scan, ...supported, ...unfit }];
    assert.deepEqual(await toolsOf(limited), tools);
    const free = await makeRun(baton, rival);
    const allTools = [{ ...lint, ...supported }, disabled, { ...scan, ...supported }];
    assert.deepEqual(await toolsOf(free), allTools);
    // A revoked skill creates a new version.
    await baton.pool.run(sql`delete from skill_assignments where skill_id = ${scan?.id}`);
    assert.equal((await done(compile(free, {}, rival), 201)).base.toolPolicy.length, 2);
  });

  test('identifies the instructions of its type by hash and reference', async () => {
    const instructions = 'Prüfe alles.';
    const { id: typeId } = await done(
      baton.admin.post('/task-types', { key: 'told', displayName: 'Told', instructions }),
      201,
    );
    const { run } = await makeRun(baton, worker, { task: { typeId } });
    const hash = `sha256:${createHash('sha256').update(instructions).digest('hex')}`;
    assert.deepEqual([run.instructionsHash, run.instructionsRefs], [hash, ['taskType:told@1']]);
    const started = (await eventsOf(baton, run.id))[0];
    assert.deepEqual(
      [started?.payload['instructionsHash'], started?.payload['instructionsRefs']],
      [hash, ['taskType:told@1']],
    );
    assert.equal((await read(run.id)).base.run.instructionsHash, hash);
  });

  test('a refused start records no manifest', async () => {
    const task = await makeTask(baton);
    const claim = await claimTask(worker, task.id);
    const count = async () =>
      (await baton.pool.row<{ n: number }>(sql`select count(*)::int as n from harness_manifests`))?.n;
    const before = await count();
    const body = { claimId: claim.id, fencingToken: 9 };
    await refused(worker.actor.post(`/tasks/${task.id}:start-run`, body), 409, 'stale_claim');
    assert.equal(await count(), before);
  });
});

describe('POST /runs/{id}/harness-manifest:compile', () => {
  test('an unchanged base keeps the active version; declarations of the harness create the next', async () => {
    const made = await makeRun(baton, worker);
    const first = await read(made.run.id);
    assert.deepEqual(await done(compile(made, { unknown: { field: 1.5 } })), first);
    const declared = {
      model: { provider: 'example', name: 'large', attempt: 1 },
      workerProfile: { size: 2 },
      executionBackend: { kind: 'container' },
      redaction: { rules: ['emails'] },
    };
    const second = await done(compile(made, declared), 201);
    assert.deepEqual([second.version, second.reason], [2, 'recompile']);
    assert.deepEqual(second.base, { ...first.base, ...declared });
    assert.equal(second.baseHash, hashOf(second.base));
    assert.deepEqual(second.provenance, {
      ...first.provenance,
      model: 'harness_declared',
      redaction: 'harness_declared',
      workerProfile: 'harness_declared',
      executionBackend: 'harness_declared',
    });
    assert.deepEqual(
      await done(compile(made, { model: { attempt: 1, name: 'large', provider: 'example' } })),
      second,
    );
    const third = await done(compile(made, { workerProfile: null }), 201);
    assert.deepEqual(third.base, { ...second.base, workerProfile: null });
    assert.equal('workerProfile' in third.provenance, false);
    assert.deepEqual(await done(list(made.run.id)), { items: [first, second, third], nextCursor: null });
    assert.deepEqual(await read(made.run.id), third);
    assert.deepEqual(await read(made.run.id, '?version=2'), second);
    const page = await done(list(made.run.id, '?limit=2'));
    assert.deepEqual((await done(list(made.run.id, `?cursor=${page.nextCursor}`))).items, [third]);
    const types = (await eventsOf(baton, made.run.id)).map(({ type }) => type);
    assert.deepEqual(types, ['run.started']);
  });

  test('a provider fallback needs a higher attempt than the active one', async () => {
    const made = await makeRun(baton, worker);
    const fallBack = (attempt?: number) =>
      compile(made, {
        reason: 'provider_fallback',
        ...(attempt !== undefined && { model: { provider: 'p', name: 'n', attempt } }),
      });
    const none = await refused(fallBack(), 422, 'invalid_fallback_attempt');
    assert.deepEqual(none, { attempt: null, activeAttempt: 0 });
    const first = await done(fallBack(1), 201);
    assert.deepEqual([first.reason, first.base.model.attempt], ['provider_fallback', 1]);
    const same = await refused(fallBack(1), 422, 'invalid_fallback_attempt');
    assert.deepEqual(same, { attempt: 1, activeAttempt: 1 });
    await done(fallBack(3), 201);
    await refused(fallBack(2), 422, 'invalid_fallback_attempt');
  });

  test('refuses in the order server sections, documents, fractions, run, status, holder, claim, attempt', async () => {
    const made = await makeRun(baton, worker);
    const lost = { ...made, run: { id: newId() } };
    for (const section of ['identity', 'run', 'projectPolicy', 'toolPolicy', 'budgets']) {
      const details = await refused(
        compile(lost, { [section]: null, workerProfile: [] }),
        422,
        'server_authoritative_section',
      );
      assert.deepEqual(details, { section });
    }
    await refused(compile(lost, { workerProfile: [] }), 422, 'invalid_document');
    await refused(compile(lost, { redaction: { a: 'x'.repeat(20_000) } }), 422, 'payload_too_large');
    const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`);
    await refused(compile(lost, { executionBackend: deep }), 422, 'payload_too_deep');
    const fraction = await refused(
      compile(lost, { workerProfile: { sizes: [1, 0.5] } }),
      422,
      'non_canonical_value',
    );
    assert.deepEqual(fraction, { path: '/sizes/1' });
    await refused(
      compile(lost, { model: { provider: 'p', name: 'n', attempt: 1.5 } }),
      422,
      'non_canonical_value',
    );
    await refused(compile(lost, { model: { provider: 'p' } }), 400, 'invalid_request');
    await refused(compile(lost, { reason: 'run_started' }), 400, 'invalid_request');
    const late = { reason: 'provider_fallback' };
    await refused(compile(lost, late), 404, 'not_found');
    await refused(compile(made, late, { ...worker, actor: baton.otherAdmin }), 404, 'not_found');
    await refused(compile(made, late, rival), 403, 'run_holder_mismatch');
    await refused(compile(made, { ...late, fencingToken: 7 }), 409, 'stale_claim');
    await refused(compile(made, { ...late, claimId: newId() }), 409, 'stale_claim');
    await endClaimLease(baton, made.task.id);
    await refused(compile(made, late), 409, 'stale_claim');
    const { id: claimId, fencingToken } = await claimTask(rival, made.task.id);
    await refused(compile(made, { ...late, claimId, fencingToken }), 403, 'claim_holder_mismatch');
    await done(worker.actor.post(`/runs/${made.run.id}:fail`));
    await refused(compile(made, late, rival), 409, 'run_not_active');
    assert.equal((await read(made.run.id)).version, 1);
  });

  test('an unknown run or version, or one of another tenant, returns 404', async () => {
    const { run } = await makeRun(baton, worker);
    for (const path of ['harness-manifest', 'harness-manifests']) {
      await refused(worker.actor.get(`/runs/${newId()}/${path}`), 404, 'not_found');
      await refused(baton.otherAdmin.get(`/runs/${run.id}/${path}`), 404, 'not_found');
    }
    await refused(worker.actor.get(`/runs/${run.id}/harness-manifest?version=2`), 404, 'not_found');
    await refused(worker.actor.get(`/runs/${run.id}/harness-manifest?version=0`), 400, 'invalid_request');
  });
});

describe('POST /runs/{id}/harness-manifest/ephemeral', () => {
  test('adds a remark to the active version, which keeps its hash', async () => {
    const made = await makeRun(baton, worker);
    const { baseHash } = await read(made.run.id);
    const first = await done(remark(made.run.id, { kind: 'steering', data: { to: 'left' } }), 201);
    const { createdAt, ...rest } = first;
    assert.deepEqual(rest, {
      kind: 'steering',
      summary: 'hm',
      data: { to: 'left' },
      createdBy: worker.actor.principalId,
    });
    assert.match(createdAt, /^\d{4}-.*Z$/);
    const second = await done(remark(made.run.id, { kind: 'budget_warning' }), 201);
    const manifest = await read(made.run.id);
    assert.deepEqual([manifest.baseHash, manifest.ephemeral], [baseHash, [first, second]]);
    await done(compile(made, { redaction: {} }), 201);
    assert.deepEqual((await read(made.run.id)).ephemeral, []);
    await done(remark(made.run.id, { kind: 'warning' }), 201);
    assert.deepEqual((await read(made.run.id, '?version=1')).ephemeral, [first, second]);
  });

  test('refuses in the order document, run, status, holder, gate, size', async () => {
    const { task, run } = await makeRun(baton, worker);
    for (const body of [{ kind: 'rumour' }, { summary: '' }, { summary: 'x'.repeat(2001) }])
      await refused(remark(run.id, body), 400, 'invalid_request');
    await refused(remark(newId(), { data: [] }), 422, 'invalid_document');
    await refused(remark(newId()), 404, 'not_found');
    await refused(remark(run.id, {}, { ...worker, actor: baton.otherAdmin }), 404, 'not_found');
    await refused(remark(run.id, {}, rival), 403, 'run_holder_mismatch');
    const data = { text: 'x'.repeat(65_000) };
    for (let n = 0; n < 4; n += 1) await done(remark(run.id, { data }), 201);
    const full = await refused(remark(run.id, { data }), 422, 'payload_too_large');
    assert.deepEqual(full, { field: 'ephemeral', maxBytes: 262_144 });
    await endClaimLease(baton, task.id);
    await refused(remark(run.id), 409, 'stale_claim');
    await done(worker.actor.post(`/runs/${run.id}:fail`));
    await refused(remark(run.id, {}, rival), 409, 'run_not_active');
  });
});

test('a compilation contains the policy of the projects above the task, and every version the context of its claim', async () => {
  const template = await makeTemplate(baton);
  const top = await makeProject(baton, { templateId: template.id });
  const below = await makeProject(baton, { templateId: template.id, parentWorkspaceId: top.workspaceId });
  const revise = (project: any, governance: object) => configure(baton, project.id, { governance });
  await revise(top, { maxRunActions: 7, allowedSkillProtocols: ['http', 'mcp'] });
  await revise(below, { maxRunActions: 5 });
  const made = await makeRun(baton, worker, { task: { workspaceId: below.workspaceId } });
  const compiled = await done(compile(made), 201);
  assert.deepEqual(compiled.base.projectPolicy, {
    projectId: below.id,
    templateKey: template.key,
    templateVersion: template.version,
    revision: 1,
    governance: { maxRunActions: 5, allowedSkillProtocols: ['http', 'mcp'] },
  });
  assert.equal(compiled.baseHash, hashOf(compiled.base));
  assert.equal((await done(compile(made))).version, compiled.version);
  assert.equal(compiled.captured.contextPackId, null);
  const packId = newId();
  await baton.pool.run(sql`
    insert into context_packs (id, tenant_id, task_id, claim_id, created_by, as_of, as_of_mode, budget_tokens, question, pack)
    values (${packId}, ${baton.tenantId}, ${made.task.id}, ${made.claim.id}, ${worker.actor.principalId}, now(), 'claim', 100,
      '{}', '{}')`);
  for (const manifest of [
    await read(made.run.id, '?version=1'),
    await done(compile(made)),
    (await done(list(made.run.id))).items.at(-1),
  ])
    assert.equal(manifest.captured.contextPackId, packId);
});
