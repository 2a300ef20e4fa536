import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';

/**
 * Much shorter than the hour for which a process caches a binding or a denial, so the change must have been announced.
 */
const announcedWithinMs = 60_000;
const main = join(import.meta.dirname, '../../app/main.ts');

let baton: TestCoordination;
let other: string;
before(async () => {
  baton = await startCoordination({
    CP_IAM_BINDING_CACHE_TTL_SECONDS: '3600',
    CP_IAM_BINDING_STALE_AFTER_SECONDS: '3600',
  });
  other = (await baton.another()).url;
});
after(() => baton.close());

async function statusThere({ token }: Pick<Actor, 'token'>): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${other}/api/v1/principals`, { headers })).status;
}

async function becomes(actor: Pick<Actor, 'token'>, expected: number): Promise<void> {
  const started = performance.now();
  let status = await statusThere(actor);
  while (status !== expected && performance.now() - started < announcedWithinMs) {
    await wait(20);
    status = await statusThere(actor);
  }
  assert.equal(status, expected);
  assertTookLess(started, 10_000, 'the announcement');
}

async function bindingOf({ principalId }: Actor): Promise<string> {
  return (await baton.admin.get(`/principals/${principalId}/iam-bindings`)).body.items[0].id;
}

const operate = (...args: string[]) =>
  promisify(execFile)(process.execPath, [main, ...args], { env: { ...process.env, ...baton.env } });

test('a binding revoked in one process is rejected in every other', async () => {
  const agent = await baton.actor();
  await becomes(agent, 200);
  await baton.admin.post(`/iam-bindings/${await bindingOf(agent)}:revoke`);
  await becomes(agent, 401);
});

test('an identity that another process refused is admitted there once it is bound', async () => {
  const iamPrincipalId = newId();
  const scope = 'control-plane:read';
  const token = await baton.issuer.sign({ sub: iamPrincipalId, tenant_id: baton.tenantId, scope });
  await becomes({ token }, 401);
  const { principalId } = await baton.actor();
  const { issuer } = baton.issuer;
  const identity = { issuer, iamTenantId: baton.tenantId, iamPrincipalId };
  const permissions = ['principals.read'];
  await baton.admin.post(`/principals/${principalId}/iam-bindings`, { ...identity, permissions });
  await becomes({ token }, 200);
});

test('a disabled principal is rejected in every process', async () => {
  const agent = await baton.actor();
  await becomes(agent, 200);
  await baton.admin.post(`/principals/${agent.principalId}:disable`);
  await becomes(agent, 401);
});

test("an operator's command on the host also takes effect in the running processes", async () => {
  const agent = await baton.actor();
  await becomes(agent, 200);
  const disabled = await operate('binding', 'disable', await bindingOf(agent));
  assert.deepEqual([disabled.stdout, disabled.stderr], ['The binding is disabled.\n', '']);
  await becomes(agent, 401);
  await operate('binding', 'enable', await bindingOf(agent));
  await becomes(agent, 200);
});

test('an emergency key is issued on the host, is admitted, and is revoked with all others', async () => {
  const issue = [
    'break-glass',
    'issue',
    '--principal',
    baton.admin.principalId,
    '--reason',
    'identity is down',
  ];
  const { stdout } = await operate(...issue);
  const token = /cp_bg\S+/.exec(stdout)?.[0] ?? '';
  await becomes({ token }, 200);
  const revoked = await operate('break-glass', 'revoke-all');
  assert.equal(revoked.stdout, 'Revoked 1 emergency key.\n');
  await becomes({ token }, 401);
  await assert.rejects(operate('break-glass', 'issue', '--principal', newId(), '--reason', 'x'), {
    code: 1,
    stderr: 'not_found: no principal has this id.\n',
  });
});
