import { type ItemPage, listPage } from '@baton/kernel/database/list';
import { replayed } from '@baton/kernel/http/command';
import { namesTag } from '@baton/kernel/http/etag';
import { findAnswer } from '@baton/kernel/http/idempotency';
import type { Page } from '@baton/kernel/http/paging';
import type { Answer, Surroundings } from '@baton/kernel/http/service';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import {
  endPathUse,
  keepPath,
  leavePath,
  type PathUse,
  usePath,
} from '../../../access/secret-store/paths.ts';
import type { SecretChange, SecretName } from '../../../access/secret-store/secret-store.ts';
import { emit } from '../../../ledger/journal/journal.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import type { AgentRow } from '../agent.ts';
import { secretNameForm } from '../agent-spec.ts';
import { getSeenAgent, lockAgentRow } from '../agents.ts';
import { type AgentSecret, agentSecretOf } from './agent-secret.ts';
import { agentSecretDeleted, agentSecretSet } from './agent-secrets.events.ts';
import {
  countSecrets,
  deleteSecretOfAgent,
  deleteSecretsOfAgent,
  findSecretOfAgent,
  findSecrets,
  upsertSecret,
} from './agent-secrets.sql.ts';

/**
 * Secrets of agents. Their paths in the store are fixed, because the agent's runtime reads them there, so writes of one
 * secret are serialized. Baton itself never reads a value; an external store records its reads in its own audit log.
 * See docs/reference/agents.md#secrets.
 */

/** Limits concurrent writes: each may wait 5 s for the store, and polls 20 times a second until its path is free. */
const waiting = { queuedMax: 64, waitMsMax: 10_000 };
const ofTenant = new ConcurrencyLimit('writes of secrets of the tenant', { runningMax: 8, ...waiting });
const ofProcess = new ConcurrencyLimit('writes of secrets', { runningMax: 32, ...waiting });

function inTurn<T>({ tenantId }: Context, write: () => Promise<T>): Promise<T> {
  return ofTenant.run(tenantId, () => ofProcess.run('', write));
}

/** The maximum number of secrets per agent; a spec lists at most 50. */
const secretsMax = 100;

export interface SecretOfAgent {
  readonly key: string;
  readonly name: string;
}

/** The entry in the store, and the reservation of its path, which the command ends. */
export interface PutSecret {
  readonly use: PathUse;
  readonly change: SecretChange;
}

const secretOf = (tenantId: string, { key, name }: SecretOfAgent): SecretName => ({
  tenantId,
  folder: `agents/${key}`,
  name,
});

function requireActive({ status, key }: AgentRow): void {
  if (status === 'retired') fail('agent_retired', { agent: key });
}

/**
 * Writes the value to the store, then records it.
 * @throws Refusal `invalid_secret_name`, `not_found`, `agent_retired`, `agent_secret_exists`,
 * `secret_store_unavailable`
 */
export async function putSecretAround(
  of: SecretOfAgent,
  value: string,
  { context, keyed, command }: Surroundings<PutSecret, Context>,
): Promise<Answer> {
  const { db, tenantId, secrets } = context;
  if (!secretNameForm.test(of.name)) fail('invalid_secret_name', { name: of.name });
  const agent = await getSeenAgent(context, of.key);
  requireActive(agent);
  const isThere = async () => (await db.row(findSecretOfAgent(tenantId, agent.id, of.name))) !== undefined;
  return inTurn(context, async () => {
    const use = await usePath(context, secretOf(tenantId, of), isThere);
    try {
      // If a response was stored under the key while this call waited, no value is written again.
      const stored = keyed && (await findAnswer(db, keyed));
      if (stored !== undefined) return replayed(stored);
      if (await isThere()) refuseExisting(context, of);
      const change = await secrets.put(secretOf(tenantId, of), value);
      return await command({ use, change });
    } finally {
      await endPathUse(context, use);
    }
  });
}

function refuseExisting({ ifNoneMatch }: Context, { key, name }: SecretOfAgent): void {
  if (namesTag(ifNoneMatch, '*')) fail('agent_secret_exists', { agent: key, name });
}

/**
 * Records a value that is already in the store.
 * @returns the secret, and whether it is new
 * @throws Refusal `not_found`, `agent_retired`, `agent_secret_exists`, `payload_too_large` beyond the maximum number of
 * secrets, `secret_store_unavailable`
 */
export async function putSecret(
  context: Context,
  of: SecretOfAgent,
  { use, change }: PutSecret,
): Promise<{ secret: AgentSecret; isNew: boolean }> {
  const { db, tenantId, caller, secrets } = context;
  const agent = await lockAgentRow(context, of.key);
  requireActive(agent);
  const isNew = (await db.row(findSecretOfAgent(tenantId, agent.id, of.name))) === undefined;
  if (!isNew) refuseExisting(context, of);
  if (isNew && ((await db.row(countSecrets(tenantId, agent.id)))?.secrets ?? 0) >= secretsMax)
    fail('payload_too_large', { secretsMax });
  await keepPath(context, use);
  await secrets.apply(db, change);
  const row = await db.row(upsertSecret(tenantId, agent.id, of.name, caller.principalId));
  const said = { agentKey: of.key, name: of.name, created: isNew };
  emit(context, agentSecretSet, { entityId: agent.id, workspaceId: agent.workspace_id }, said);
  return { secret: agentSecretOf(row as NonNullable<typeof row>), isNew };
}

/** The names of an agent's secrets, in order. @throws Refusal `not_found`, `invalid_cursor` */
export async function listSecrets(context: Context, key: string, page: Page): Promise<ItemPage<AgentSecret>> {
  const { id } = await getSeenAgent(context, key);
  return listPage(context.db, findSecrets(context.tenantId, id, page), agentSecretOf);
}

/**
 * Removes a secret: first the record, then the value in the store; if the store is unavailable, a worker removes the
 * value later.
 * @throws Refusal `not_found`, `agent_retired`, `secret_store_unavailable` while it is being written
 */
export async function deleteSecretAround(
  of: SecretOfAgent,
  { context, command }: Surroundings<PathUse, Context>,
): Promise<Answer> {
  const { db, tenantId } = context;
  const agent = await getSeenAgent(context, of.key);
  requireActive(agent);
  const isThere = async () => (await db.row(findSecretOfAgent(tenantId, agent.id, of.name))) !== undefined;
  if (!(await isThere())) fail('not_found', { agent: of.key, name: of.name });
  return inTurn(context, async () => {
    const use = await usePath(context, secretOf(tenantId, of), isThere);
    try {
      return await command(use);
    } finally {
      await endPathUse(context, use);
    }
  });
}

/** @throws Refusal `not_found`, `agent_retired`, `secret_store_unavailable` */
export async function deleteSecret(context: Context, of: SecretOfAgent, use: PathUse): Promise<undefined> {
  const { db, tenantId } = context;
  const agent = await lockAgentRow(context, of.key);
  requireActive(agent);
  if ((await db.run(deleteSecretOfAgent(tenantId, agent.id, of.name))) === 0)
    fail('not_found', { agent: of.key, name: of.name });
  await leavePath(context, use.secret);
  sayDeleted(context, agent, of.name);
}

/**
 * Removes all secrets of a retired agent in the transaction that retires it; they can't be removed individually
 * afterwards.
 */
export async function deleteAllSecrets(context: Context, agent: AgentRow): Promise<void> {
  const { db, tenantId } = context;
  for (const { name } of await db.rows(deleteSecretsOfAgent(tenantId, agent.id))) {
    await leavePath(context, secretOf(tenantId, { key: agent.key, name }));
    sayDeleted(context, agent, name);
  }
}

function sayDeleted(context: Context, { id, key, workspace_id: workspaceId }: AgentRow, name: string): void {
  emit(context, agentSecretDeleted, { entityId: id, workspaceId }, { agentKey: key, name });
}
