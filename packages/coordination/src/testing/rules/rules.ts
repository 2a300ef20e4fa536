import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { continuePendingEvaluations, runRuleSchedules, runRules } from '../../rules/evaluations/rule-jobs.ts';
import type { Actor, TestCoordination } from '../coordination.ts';
import { done } from '../leases.ts';
import { journalIsStable } from '../ledger/journal-writer.ts';
import { makeWorkerTools } from '../sweepers.ts';

/** A worker that evaluates rules on a test's request. */
export function makeRuleWorker(
  baton: TestCoordination,
  env: Record<string, string> = {},
  logged: string[] = [],
) {
  const { tools, close } = makeWorkerTools({ ...baton, env: { ...baton.env, ...env } }, logged);
  const [turns, schedules, waiting] = [
    runRules(tools),
    runRuleSchedules(tools),
    continuePendingEvaluations(tools),
  ];
  return {
    close,
    tools,
    turns,
    /** Runs turns until the journal has no new events. */
    async run() {
      for (let turn = 0; turn < 200; turn += 1) {
        await journalIsStable(baton.pool);
        if ((await turns.run()) === 0) return;
      }
      throw new Error('the rules did not come to rest');
    },
    schedules: () => schedules.run(),
    waiting: () => waiting.run(),
  };
}

export const observed = (type: string, more: object = {}) => ({ kind: 'observation', type, ...more });

/** A rule whose action creates a task, by default. */
export async function makeRule(actor: Actor, more: Record<string, unknown> = {}) {
  return done(actor.post('/rules', ruleBody(more)), 201);
}

export function ruleBody({ action, ...more }: Record<string, unknown> = {}) {
  return {
    key: `r-${newId()}`,
    trigger: { kind: 'event', type: 'task.completed' },
    action: {
      kind: 'ensure_work',
      taskType: 'task',
      fields: { title: 'Follow up' },
      ...(action as object),
    },
    ...more,
  };
}

/** Publishes an observation of a kind with `data`. */
export async function observe(actor: Actor, kind: string, data: object = {}, more: object = {}) {
  return done(actor.post('/observations', { kind, content: 'seen', data, ...more }), 201);
}

export async function evaluationsOf(actor: Actor, ruleId: string, query = '') {
  return (await done(actor.get(`/rules/${ruleId}/evaluations?limit=200${query}`))).items as any[];
}

/** The result of a rule, written without the worker that would normally create it. @returns its id */
export async function writeEvaluation(
  baton: Pick<TestCoordination, 'pool'>,
  rule: { id: string; tenantId: string; workspaceId: string | null },
): Promise<string> {
  const id = newId();
  await baton.pool.run(sql`
    insert into rule_evaluations (id, tenant_id, workspace_id, rule_id, rule_version, trigger_ref, status)
    values (${id}, ${rule.tenantId}, ${rule.workspaceId}, ${rule.id}, 1, ${`event:${id}`}, 'not_matched')`);
  return id;
}

/** Delays each task whose title begins with "slow", so that a turn ends before it reaches the end of a list of them. */
export async function slowDownTasks(
  { pool }: Pick<TestCoordination, 'pool'>,
  seconds: number,
): Promise<void> {
  const texts = [
    `create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(${seconds}); return new; end $$`,
    `create trigger be_slow before insert on tasks for each row when (new.title like 'slow%') execute function be_slow()`,
  ];
  for (const text of texts) await pool.run({ text, values: [] });
}
