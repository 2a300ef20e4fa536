import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../coordination.ts';
import { done } from '../leases.ts';
import { startMemoryService, type TestMemory } from './memory-service.ts';

/** The service with a reference memory service. */
export interface WithMemory {
  readonly baton: TestCoordination;
  readonly memory: TestMemory;
  close(): Promise<void>;
}

export async function startWithMemory(settings: Record<string, string> = {}): Promise<WithMemory> {
  const memory = await startMemoryService();
  const baton = await startCoordination({
    CP_CONTEXT_PROVIDER: 'http',
    CP_CONTEXT_BASE_URL: memory.url,
    CP_CONTEXT_CIRCUIT_FAILURES: '1000',
    ...settings,
  });
  return {
    baton,
    memory,
    async close() {
      await baton.close();
      await memory.close();
    },
  };
}

/** A task type whose tasks get context from memory. @returns its key */
export async function makeTypeWithContext(baton: TestCoordination, contextSchema: object, more: object = {}) {
  const key = `told${newId()}`.slice(0, 40);
  await done(baton.admin.post('/task-types', { key, displayName: 'Told', contextSchema, ...more }), 201);
  return key;
}

export const requestContext = (actor: Actor, more: object = {}) =>
  done(actor.post('/context', { query: 'What is known?', ...more }));

/** Inserts an empty context pack of a claim. @returns its id */
export async function insertContextPack(
  { pool }: Pick<TestCoordination, 'pool'>,
  { tenantId, principalId }: Pick<Actor, 'tenantId' | 'principalId'>,
  { taskId, claimId }: { taskId: string; claimId: string },
): Promise<string> {
  const id = newId();
  const question = { anchors: ['service:billing'], kinds: [], relations: [], depth: 1, strategy: null };
  const namespaces = [`tenant:${tenantId}`];
  await pool.run(sql`
    insert into context_packs (id, tenant_id, task_id, claim_id, created_by, as_of, as_of_mode, budget_tokens, question,
      pack)
    values (${id}, ${tenantId}, ${taskId}, ${claimId}, ${principalId}, now(), 'claim', 3000,
      ${JSON.stringify({ ...question, namespaces })}, ${JSON.stringify({ entities: [], facts: [], snapshots: [] })})`);
  return id;
}
