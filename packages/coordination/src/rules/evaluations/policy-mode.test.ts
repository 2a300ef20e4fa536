import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type PolicyMode, startPolicyMode } from '../../testing/access/policy-mode.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';
import { makeCallable } from '../../testing/results/invocations.ts';
import {
  evaluationsOf,
  makeRule,
  makeRuleWorker,
  observe,
  observed,
  ruleBody,
} from '../../testing/rules/rules.ts';

/** CP_AUTHZ_MODE policy: external authorization decides the permissions of rules. */

let mode: PolicyMode;
let baton: TestCoordination;
let worker: ReturnType<typeof makeRuleWorker>;
before(async () => {
  mode = await startPolicyMode();
  ({ baton } = mode);
  worker = makeRuleWorker(baton);
});
after(async () => {
  await worker.close();
  await mode.close();
});
beforeEach(async () => {
  mode.reset();
  await baton.pool.run(
    sql`update rules set status = 'disabled', next_run_at = null where status = 'enabled'`,
  );
  await worker.run();
});

const kind = () => `k-${newId()}`;
const grantTo = (actor: Actor, ...actions: string[]) =>
  mode.grant(({ who, action }) => who === actor.iamPrincipalId && actions.includes(action));
const authored = ['rules.write', 'rules.read', 'tasks.write', 'tasks.read'];
const outcome = async (ruleId: string) => {
  const found = await evaluationsOf(baton.admin, ruleId);
  return found.map(({ status, result }) => `${status} ${result.work?.[0]?.refused ?? ''}`.trim()).reverse();
};

test('a denial by external authorization takes effect at the next event, and so does its end', async () => {
  const author = await baton.actor();
  grantTo(author, ...authored);
  const type = kind();
  const rule = await makeRule(author, { trigger: observed(type) });
  const next = async () => {
    await observe(baton.admin, type);
    await worker.run();
  };
  await next();
  grantTo(author, 'rules.write', 'rules.read');
  await next();
  grantTo(author, ...authored);
  await next();
  assert.deepEqual(await outcome(rule.id), ['matched', 'failed permission_denied', 'matched']);
});

test('a rule acts with permissions from external authorization alone, queried for its identity and workspace', async () => {
  const author = await baton.actor({ kind: 'human', permissions: ['org.read'] });
  grantTo(author, ...authored, 'goals.read');
  const [type, workspace] = [kind(), await makeWorkspace(baton)];
  const rule = await makeRule(author, {
    trigger: observed(type),
    workspaceId: workspace.id,
    condition: { eq: [{ var: 'goal' }, null] },
  });
  mode.policy.asked.length = 0;
  await observe(baton.admin, type);
  await worker.run();
  assert.deepEqual(await outcome(rule.id), ['matched']);
  const asked = mode.policy.asked.filter(({ who }) => who === author.iamPrincipalId);
  assert.deepEqual(
    new Set(asked.map(({ kind: of, action, resource }) => `${of} ${action} ${resource}`)),
    new Set([
      `human goals.read workspace:${workspace.id}`,
      `human tasks.read tenant:${baton.tenantId}`,
      `human tasks.write workspace:${workspace.id}`,
    ]),
  );
});

test('a rule with an identity has the permissions that external authorization grants to its agent, not to its writer', async () => {
  const type = kind();
  const { key } = await publishAgent(
    baton.admin,
    agentSpec({ identity: { permissions: ['tasks.write', 'tasks.read'] } }),
  );
  const agent = await linkAgent(baton, key);
  const author = await baton.actor();
  grantTo(author, ...authored);
  const rule = await makeRule(author, { trigger: observed(type), identity: { agent: key } });
  const next = async () => {
    await observe(baton.admin, type);
    await worker.run();
  };
  await next();
  grantTo(agent, 'tasks.write', 'tasks.read');
  await next();
  // The agent is also limited to the permissions of its binding.
  await baton.pool.run(sql`
    update iam_bindings set permissions = '{tasks.read}' where principal_id = ${agent.principalId}`);
  await next();
  assert.deepEqual(await outcome(rule.id), [
    'failed permission_denied',
    'matched',
    'failed permission_denied',
  ]);
});

test('an API key has its listed permissions, without external authorization', async () => {
  const { principalId } = await baton.actor();
  const { key } = await done(
    baton.admin.post(`/principals/${principalId}/api-keys`, {
      permissions: ['rules.write', 'rules.read', 'tasks.write'],
    }),
    201,
  );
  const type = kind();
  const { body: rule } = await baton.request('POST', '/api/v1/rules', {
    token: key,
    body: ruleBody({ trigger: observed(type) }),
  });
  mode.policy.asked.length = 0;
  await observe(baton.admin, type);
  mode.policy.asked.length = 0;
  await worker.run();
  assert.deepEqual(mode.policy.asked, []);
  assert.deepEqual(await outcome(rule.id), ['matched']);
});

test('without a decision, nothing is recorded or done; other tenants continue; the action is executed once, later', async () => {
  const author = await baton.actor();
  grantTo(author, ...authored);
  const type = kind();
  const rule = await makeRule(author, { trigger: observed(type) });
  await observe(baton.admin, type);
  mode.grant(() => true);
  const other = await makeRule(baton.otherAdmin, { trigger: observed(type) });
  await observe(baton.otherAdmin, type);
  await journalIsStable(baton.pool);
  mode.policy.behave((_path, body: any, res) => {
    const items = body.items ?? [body];
    if (!items.some(({ principalId }: any) => principalId === author.iamPrincipalId)) return undefined;
    res.writeHead(503).end();
    return 'answered';
  });
  const logged: string[] = [];
  const first = makeRuleWorker(baton, {}, logged);
  for (let turn = 0; turn < 3; turn += 1) await first.turns.run();
  await first.close();
  assert.ok(
    logged.some((line) => line.includes('policy_unavailable')),
    logged.join('\n'),
  );
  assert.equal(
    (await baton.pool.rows(sql`select from rule_evaluations where rule_id = ${rule.id}`)).length,
    0,
  );
  assert.equal(
    (await baton.pool.rows(sql`select from rule_evaluations where rule_id = ${other.id}`)).length,
    1,
  );
  mode.policy.behave(undefined);
  grantTo(author, ...authored);
  await worker.run();
  assert.deepEqual(await outcome(rule.id), ['matched']);
});

test('external authorization decides on the task of the cause: a denied task is neither read nor closed', async () => {
  const author = await baton.actor();
  const [free, kept] = [await makeTask(baton, { title: 'free' }), await makeTask(baton, { title: 'kept' })];
  const mayOn = (denied: string) =>
    mode.grant(
      ({ who, action, resource }) =>
        who === author.iamPrincipalId && authored.includes(action) && resource !== `task:${denied}`,
    );
  mayOn('none');
  const type = kind();
  const reading = await makeRule(author, {
    trigger: observed(type),
    condition: { eq: [{ var: 'task.title' }, 'kept'] },
  });
  const closing = await makeRule(author, {
    trigger: observed(type, { actorId: baton.admin.principalId }),
    action: { kind: 'cancel_work', target: 'task', taskType: undefined, fields: undefined },
  });
  mayOn(kept.id);
  for (const { id } of [free, kept]) await observe(baton.admin, type, {}, { task: id });
  await worker.run();
  assert.deepEqual(await outcome(reading.id), ['not_matched', 'not_matched']);
  assert.deepEqual(await outcome(closing.id), ['matched', 'failed permission_denied']);
  const dryRun = async () => {
    const { results } = await done(
      author.post('/rules:dry-run', ruleBody({ trigger: observed(type), condition: reading.condition })),
    );
    return results.map(({ status }: { status: string }) => status);
  };
  await journalIsStable(baton.pool);
  mode.policy.list((_who, action) => (action === 'tasks.read' ? [free.id] : []));
  assert.deepEqual(await dryRun(), ['not_matched', 'not_matched']);
  mode.policy.list((_who, action) => (action === 'tasks.read' ? [free.id, kept.id] : []));
  assert.deepEqual(await dryRun(), ['matched', 'not_matched']);
});

test('a dry run without a decision returns 503', async () => {
  const author = await baton.actor();
  grantTo(author, ...authored);
  const type = kind();
  await observe(baton.admin, type, {}, { task: (await makeTask(baton)).id });
  await journalIsStable(baton.pool);
  mode.policy.behave((_path, { action }: any, res) =>
    action === 'tasks.read' ? (res.writeHead(503).end(), 'answered') : undefined,
  );
  const body = ruleBody({
    trigger: observed(type),
    condition: { eq: [{ var: 'task.title' }, 'x'] },
  });
  await refused(author.post('/rules:dry-run', body), 503, 'policy_unavailable');
});

test('pending evaluations are authorized again when they continue, and so are schedules', async () => {
  const author = await baton.actor();
  grantTo(author, ...authored);
  const type = kind();
  const filing = await makeRule(author, { trigger: observed(type), action: { dedupKeyTemplate: type } });
  await observe(baton.admin, type);
  await worker.run();
  const [taskId] = (await evaluationsOf(baton.admin, filing.id))[0].createdTaskIds;
  mode.grant(() => true);
  await claimTask(await makeWorker(baton), taskId);
  const closing = { kind: 'cancel_work', taskType: undefined, fields: undefined, dedupKeyTemplate: type };
  const waiting = await makeRule(author, { trigger: observed(`${type}.close`), action: closing });
  const schedule = await makeRule(author, {
    trigger: { kind: 'schedule', type: 'interval', everySeconds: 60 },
    action: closing,
  });
  await observe(baton.admin, `${type}.close`);
  await worker.run();
  assert.deepEqual(await outcome(waiting.id), ['waiting']);
  grantTo(author, 'rules.read');
  await baton.pool.run(
    sql`update rule_evaluations set next_check_at = now() - interval '1 s' where rule_id = ${waiting.id}`,
  );
  await baton.pool.run(sql`update rules set next_run_at = now() - interval '1 s' where id = ${schedule.id}`);
  await worker.waiting();
  await worker.schedules();
  assert.deepEqual(await outcome(waiting.id), ['failed permission_denied']);
  assert.deepEqual(await outcome(schedule.id), ['failed permission_denied']);
});

test('a rule may call a skill with permissions from external authorization alone, including those that the skill requires', async () => {
  const author = await baton.actor({ permissions: ['org.read'] });
  grantTo(author, ...authored, 'skills.invoke', 'artifacts.read');
  const [type, skill] = [
    kind(),
    await makeCallable(baton.admin, { contract: { requiredPermissions: ['artifacts.read'] } }),
  ];
  const rule = await makeRule(author, {
    trigger: observed(type),
    interpretation: { skill: `${skill.name}@${skill.version}`, inputs: {} },
  });
  const next = async () => {
    await observe(baton.admin, type);
    await worker.run();
  };
  await next();
  grantTo(author, ...authored, 'skills.invoke');
  await next();
  const codes = (await evaluationsOf(baton.admin, rule.id)).map(({ status, error }) => error?.code ?? status);
  assert.deepEqual(codes.reverse(), ['waiting', 'skill_permission_denied']);
});

test('many authors of one event are authorized in one request', async () => {
  const type = kind();
  const authors = await Promise.all(Array.from({ length: 40 }, () => baton.actor()));
  mode.grant(() => true);
  const rules = [];
  for (const author of authors) rules.push(await makeRule(author, { trigger: observed(type) }));
  await observe(baton.admin, type);
  await journalIsStable(baton.pool);
  mode.policy.requests.length = 0;
  await worker.run();
  // Each turn sends two requests; on a busy machine, several turns are needed.
  assert.ok(mode.policy.requests.length < authors.length, String(mode.policy.requests.length));
  for (const { id } of rules) assert.deepEqual(await outcome(id), ['matched']);
});
