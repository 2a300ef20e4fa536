import { storeAnswer, takeKey } from '@baton/kernel/http/idempotency';
import { Refusal } from '@baton/kernel/http/refusal';
import type { JsonObject } from '@baton/values/wire';
import { nobody } from '../../service/caller.ts';
import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import type { MemoryGateway } from '../gateway/gateway.ts';
import { documentKind } from './documents.ts';
import {
  deleteIntent,
  type IntentKind,
  type IntentRow,
  leaseDueIntents,
  postponeIntent,
} from './intents.sql.ts';
import { packKind } from './packs.ts';
import { snapshotKind } from './snapshots.ts';
import { configurationKind } from './workspace-packs.ts';
import {
  type KnowledgeKind,
  leaseSecondsOf,
  requestWrite,
  settleWrite,
  type WriteAnswer,
} from './write-knowledge.ts';

/** Each write may hold 8 MiB. */
const batchMax = 4;
const waitSecondsMax = 30;
/** After a day without a response, a write is abandoned. */
const attemptsMax = 2880;

type AnyKind = KnowledgeKind<unknown, JsonObject, object>;
const kinds = {
  snapshot: snapshotKind,
  document: documentKind,
  pack: packKind,
  configuration: configurationKind,
} as unknown as Readonly<Record<IntentKind, AnyKind>>;

type Tools = JobTools<Context> & Pick<Context, 'memory'>;

/**
 * Finishes writes to memory whose process crashed: repeats the request, which memory recognizes by the name of the
 * written object, and writes the events along with the response. See docs/reference/memory.md#knowledge.
 */
export function finishWrites(tools: Tools): Job {
  const { pool, memory, settings } = tools;
  const leaseSeconds = Math.max(...Object.values(kinds).map((kind) => leaseSecondsOf(kind, settings)));
  return {
    name: 'knowledge',
    batchMax,
    async run() {
      if (memory === undefined) return 0;
      const due = await pool.rows(leaseDueIntents(batchMax, leaseSeconds));
      await Promise.all(due.map((intent) => finish(tools, memory, intent)));
      return due.length;
    },
  };
}

async function finish({ pool, settings, log, command }: Tools, memory: MemoryGateway, intent: IntentRow) {
  const { id, tenant_id: tenantId, attempts } = intent;
  const kind = kinds[intent.kind];
  const result = await requestWrite(memory, kind, intent, settings);
  if (result.kind === 'ok')
    return command('knowledge', tenantId, (context) => settle(context, kind, intent, result));
  // The memory service itself refused the write: it has not stored it and will not accept it.
  const isRefused = result.kind === 'refused' && kind.refusals[result.status] !== undefined;
  if (!isRefused && attempts < attemptsMax)
    return pool.run(postponeIntent(intent, Math.min(2 ** attempts, waitSecondsMax)));
  log.warn(
    { id, kind: intent.kind, attempts },
    'a write to memory was abandoned: it was refused or got no response',
  );
  return pool.run(deleteIntent(tenantId, id));
}

/** The events record the original writer, and the response is stored under the key of the unanswered request. */
async function settle(
  context: Context,
  kind: AnyKind,
  intent: IntentRow,
  answer: WriteAnswer<unknown>,
): Promise<void> {
  const { tenant_id: tenantId, principal_id: principalId, iam_principal_id: iamPrincipalId } = intent;
  const asWriter: Context = {
    ...context,
    caller: { ...nobody, tenantId, principalId, iamPrincipalId },
    requestId: intent.request_id,
    correlationId: intent.correlation_id,
    traceRunId: intent.trace_run_id,
  };
  const { facts } = intent;
  const { status, body } = await settleWrite(kind, asWriter, { intentId: intent.id, facts, answer });
  await keepAnswer(context, intent, { status, body });
}

async function keepAnswer(
  { db, settings }: Context,
  { tenant_id: tenantId, idempotency_key: key, fingerprint }: IntentRow,
  answer: { status: number; body: object },
): Promise<void> {
  if (key === null || fingerprint === null) return;
  const keyed = { tenantId, key, fingerprint };
  try {
    const before = await takeKey(db, keyed, {
      storedSeconds: settings.CP_IDEMPOTENCY_TTL_SECONDS,
      waitSeconds: settings.CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS,
    });
    if (before === undefined) await storeAnswer(db, keyed, answer, []);
  } catch (error) {
    // Another call has used the key since then, so no request waits for this response.
    if (!(error instanceof Refusal && error.code === 'idempotency_key_reused')) throw error;
  }
}
